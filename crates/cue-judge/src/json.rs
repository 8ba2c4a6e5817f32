//! A JSON parser that keeps all digits, for the output of Go's `cue`.

use cambium_cue::Data;
use cambium_cue::number::Number;

/// Parses a JSON value; `None` if the text is not JSON.
pub fn read(text: &str) -> Option<Data> {
    let mut reader = Reader { rest: text };
    let data = reader.value()?;
    reader.space();
    reader.rest.is_empty().then_some(data)
}

/// Whether two values are equal: numbers digit by digit, fields in any order.
pub fn same(left: &Data, right: &Data) -> bool {
    match (left, right) {
        (Data::Number(left), Data::Number(right)) => left.to_json() == right.to_json(),
        (Data::List(left), Data::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Data::Struct(fields), Data::Struct(others)) => {
            fields.len() == others.len()
                && fields
                    .iter()
                    .all(|(name, value)| right.get(name).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self) -> Option<Data> {
        if self.take("null") {
            return Some(Data::Null);
        }
        if self.take("true") {
            return Some(Data::Bool(true));
        }
        if self.take("false") {
            return Some(Data::Bool(false));
        }
        if self.take("[") {
            return self.list();
        }
        if self.take("{") {
            return self.fields();
        }
        if self.rest.starts_with('"') {
            return self.string().map(Data::String);
        }
        self.number()
    }

    fn list(&mut self) -> Option<Data> {
        let mut items = Vec::new();
        if self.take("]") {
            return Some(Data::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.take("]") {
                return Some(Data::List(items));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn fields(&mut self) -> Option<Data> {
        let mut fields = Vec::new();
        if self.take("}") {
            return Some(Data::Struct(fields));
        }
        loop {
            self.space();
            let name = self.string()?;
            if !self.take(":") {
                return None;
            }
            fields.push((name, self.value()?));
            if self.take("}") {
                return Some(Data::Struct(fields));
            }
            if !self.take(",") {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let mut text = String::new();
        let mut characters = self.rest.strip_prefix('"')?.chars();
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => text.push(escaped(&mut characters)?),
                plain => text.push(plain),
            }
        }
        self.rest = characters.as_str();
        Some(text)
    }

    fn number(&mut self) -> Option<Data> {
        let end = self
            .rest
            .find(|character: char| !matches!(character, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'))
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let number = Number::from_literal(digits.trim_start_matches('-')).ok()?;
        Some(Data::Number(if digits.starts_with('-') {
            number.negate()
        } else {
            number
        }))
    }
}

fn escaped(characters: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match characters.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let mut unit = hexadecimal(characters)?;
            if (0xd800..0xdc00).contains(&unit) {
                characters.as_str().strip_prefix("\\u")?;
                characters.nth(1);
                let low = hexadecimal(characters)?;
                unit = 0x10000 + ((unit - 0xd800) << 10) + low.checked_sub(0xdc00)?;
            }
            char::from_u32(unit)?
        }
        other => other,
    })
}

fn hexadecimal(characters: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut unit = 0;
    for _ in 0..4 {
        unit = unit * 16 + characters.next()?.to_digit(16)?;
    }
    Some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_data_writes() {
        let text = r#"{"a":[1,-2.50,1E+400],"b":{"c":null,"d":"\"\\\n\u0001ü𝄞"},"e":true}"#;
        assert_eq!(read(text).unwrap().to_json(), text);
        assert_eq!(read(r#""\ud834\udd1e""#), Some(Data::String("𝄞".into())));
    }

    #[test]
    fn the_order_of_fields_is_no_difference_but_the_kind_of_a_number_is() {
        let value = |text| read(text).unwrap();
        assert!(same(&value(r#"{"a":1,"b":2}"#), &value(r#"{"b":2,"a":1}"#)));
        assert!(!same(&value("1"), &value("1.0")));
    }
}
