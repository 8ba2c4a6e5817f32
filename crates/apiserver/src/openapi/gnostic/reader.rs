//! A schemaless protobuf reader, for tests.

/// The fields of a message, in their order.
pub(super) struct Fields(Vec<(u32, Field)>);

enum Field {
    Number(u64),
    Bits(u64),
    Bytes(Vec<u8>),
}

impl Fields {
    pub(super) fn read(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let field = match key & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => Field::Bits(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let length = varint(&mut bytes);
                    Field::Bytes(take(&mut bytes, usize::try_from(length).unwrap()).to_vec())
                }
                other => panic!("no such type of field: {other}"),
            };
            fields.push((u32::try_from(key >> 3).unwrap(), field));
        }
        Self(fields)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every message at the end of a path of numbers.
    pub(super) fn all(&self, path: &[u32]) -> Vec<Self> {
        let found = self.found(path);
        found
            .iter()
            .map(|field| match field {
                Field::Bytes(bytes) => Self::read(bytes),
                _ => panic!("{path:?} is no message"),
            })
            .collect()
    }

    /// The first one.
    pub(super) fn message(&self, path: &[u32]) -> Self {
        let all = self.all(path);
        all.into_iter()
            .next()
            .unwrap_or_else(|| panic!("nothing at {path:?}"))
    }

    pub(super) fn texts(&self, path: &[u32]) -> Vec<String> {
        let found = self.found(path);
        found
            .iter()
            .map(|field| match field {
                Field::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                _ => panic!("{path:?} is no text"),
            })
            .collect()
    }

    pub(super) fn text(&self, path: &[u32]) -> String {
        self.texts(path).swap_remove(0)
    }

    pub(super) fn number(&self, path: &[u32]) -> u64 {
        match self.found(path)[..] {
            [Field::Number(number)] => number,
            _ => panic!("{path:?} is no number"),
        }
    }

    pub(super) fn double(&self, path: &[u32]) -> f64 {
        match self.found(path)[..] {
            [Field::Bits(bits)] => f64::from_bits(bits),
            _ => panic!("{path:?} is no double"),
        }
    }

    fn found(&self, path: &[u32]) -> Vec<Field> {
        let (first, rest) = path.split_first().unwrap();
        let here = self.0.iter().filter(|(number, _)| number == first);
        here.flat_map(|(_, field)| match (field, rest) {
            (Field::Number(number), []) => vec![Field::Number(*number)],
            (Field::Bits(bits), []) => vec![Field::Bits(*bits)],
            (Field::Bytes(bytes), []) => vec![Field::Bytes(bytes.clone())],
            (Field::Bytes(bytes), rest) => Self::read(bytes).found(rest),
            _ => panic!("{first} is no message"),
        })
        .collect()
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let byte = take(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    value
}
