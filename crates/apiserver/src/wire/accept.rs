//! Content negotiation by the `Accept` header.

use crate::status::{Result, Status};

/// The negotiated representation: encoding and shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Representation {
    pub(crate) encoding: Encoding,
    pub(crate) shape: Shape,
}

/// The encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

impl Encoding {
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The representation of a `Status`: the best alternative without `as=…`, or JSON.
    pub(crate) fn of_failure(header: Option<&str>) -> Self {
        let alternatives = alternatives(header.unwrap_or_default());
        let mut plain = alternatives.iter().filter(|one| one.parameter("as").is_none());
        plain.find_map(|one| Self::of(one.media)).unwrap_or(Self::Json)
    }

    /// Parses a media type of an `Accept` header.
    fn of(media: &str) -> Option<Self> {
        match media {
            "application/json" | "*/*" | "application/*" => Some(Self::Json),
            "application/yaml" => Some(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }
}

/// The shape of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The object itself.
    Object,
    /// A table for printing (`as=Table`).
    Table,
    /// Only `metadata` (`as=PartialObjectMetadata`).
    Metadata,
}

/// The supported media types.
pub(crate) const SPOKEN: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];

/// One alternative of an `Accept` header.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Alternative<'a> {
    pub(crate) media: &'a str,
    pub(crate) parameters: Vec<(&'a str, &'a str)>,
    pub(crate) quality: f32,
}

impl<'a> Alternative<'a> {
    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }
}

/// The alternatives of an `Accept` header, best first.
pub(crate) fn alternatives(header: &str) -> Vec<Alternative<'_>> {
    let mut list: Vec<Alternative<'_>> = Vec::new();
    for clause in header
        .split(',')
        .map(str::trim)
        .filter(|clause| !clause.is_empty())
    {
        let mut parts = clause.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let mut quality = 1.0;
        let mut parameters = Vec::new();
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match key {
                "q" => quality = value.parse().unwrap_or(1.0),
                _ => parameters.push((key, value)),
            }
        }
        list.push(Alternative {
            media,
            parameters,
            quality,
        });
    }
    list.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    list
}

impl Representation {
    /// Plain JSON objects.
    pub(crate) const JSON: Self = Self {
        encoding: Encoding::Json,
        shape: Shape::Object,
    };

    /// Chooses by an `Accept` header. Objects of custom kinds have no protobuf form, but their metadata has; Tables have none.
    pub(crate) fn choose(header: Option<&str>, custom: bool) -> Result<Self> {
        let Some(header) = header.filter(|header| !header.trim().is_empty()) else {
            return Ok(Self::JSON);
        };
        for alternative in alternatives(header) {
            let Some(encoding) = Encoding::of(alternative.media) else {
                continue;
            };
            let known_version = matches!(
                (alternative.parameter("g"), alternative.parameter("v")),
                (Some("meta.k8s.io"), Some("v1" | "v1beta1"))
            );
            let shape = match alternative.parameter("as") {
                None => Shape::Object,
                Some("Table") if known_version => Shape::Table,
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") if known_version => {
                    Shape::Metadata
                }
                Some(_) => continue,
            };
            let has_protobuf = match shape {
                Shape::Object => !custom,
                Shape::Metadata => true,
                Shape::Table => false,
            };
            if encoding == Encoding::Protobuf && !has_protobuf {
                continue;
            }
            return Ok(Self { encoding, shape });
        }
        Err(Status::not_acceptable(&SPOKEN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_spoken_alternative_wins() {
        let choose = |header| Representation::choose(Some(header), false).map(|r| (r.encoding, r.shape));
        assert_eq!(
            choose("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
            Ok((Encoding::Json, Shape::Table))
        );
        assert_eq!(
            choose("application/json;as=Table;v=v9;g=meta.k8s.io,application/json"),
            Ok((Encoding::Json, Shape::Object))
        );
        assert_eq!(
            choose("application/json;q=0.5,application/yaml"),
            Ok((Encoding::Yaml, Shape::Object))
        );
        assert_eq!(choose("*/*"), Ok((Encoding::Json, Shape::Object)));
        assert_eq!(
            Encoding::of_failure(Some("text/html, application/yaml")),
            Encoding::Yaml
        );
        assert_eq!(
            Encoding::of_failure(Some(
                "application/json;as=Table;v=v1;g=meta.k8s.io,application/vnd.kubernetes.protobuf"
            )),
            Encoding::Protobuf
        );
        assert_eq!(Encoding::of_failure(None), Encoding::Json);
        assert_eq!(choose("text/html").unwrap_err().reason, "NotAcceptable");
        assert_eq!(
            choose("application/json;as=BogusKind;v=v1;g=meta.k8s.io")
                .unwrap_err()
                .code,
            406
        );
    }

    #[test]
    fn what_has_no_protobuf_form_is_sent_in_the_next_best() {
        let plain = "application/vnd.kubernetes.protobuf,application/json";
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        let table = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json";
        let choose =
            |header, custom| Representation::choose(Some(header), custom).map(|r| (r.encoding, r.shape));
        assert_eq!(choose(plain, false), Ok((Encoding::Protobuf, Shape::Object)));
        assert_eq!(choose(plain, true), Ok((Encoding::Json, Shape::Object)));
        assert_eq!(choose(metadata, true), Ok((Encoding::Protobuf, Shape::Metadata)));
        assert_eq!(choose(table, false), Ok((Encoding::Json, Shape::Object)));
        assert_eq!(
            choose("application/vnd.kubernetes.protobuf", true)
                .unwrap_err()
                .code,
            406
        );
    }
}
