//! The identity of an object in the store: its bucket and its key.

use std::sync::Arc;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::registry::Served;
use crate::server::Server;
use crate::store::Entry;

/// Characters that are percent-encoded in URLs.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'|')
    .add(b'^')
    .add(b'[')
    .add(b']');

/// Bucket and key of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) bucket: Arc<str>,
    /// `namespace/name`, or the name alone.
    pub(crate) key: Arc<str>,
}

impl ObjectKey {
    pub(crate) fn new(bucket: &Arc<str>, key: &Arc<str>) -> Self {
        Self {
            bucket: bucket.clone(),
            key: key.clone(),
        }
    }

    pub(crate) fn namespace(&self) -> &str {
        self.key.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// The object, if it exists.
    pub(crate) fn entry(&self, server: &Server) -> Option<Arc<Entry>> {
        server.store.bucket(&self.bucket).get(&self.key)
    }

    /// Its URL path; `None` while its kind is not served.
    pub(crate) fn path(&self, server: &Server) -> Option<String> {
        Some(path(&*serving(server, &self.bucket)?, &self.key))
    }
}

/// The resource whose objects are in a bucket, preferably at the storage version.
pub(crate) fn serving(server: &Server, bucket: &str) -> Option<Arc<Served>> {
    let registry = server.registry();
    let mut serving = registry
        .all()
        .filter(|served| &*served.bucket == bucket && served.is_stored());
    let first = serving.next()?;
    let stored = std::iter::once(first)
        .chain(serving)
        .find(|served| served.api_version == served.stored_as);
    Some(stored.unwrap_or(first).clone())
}

/// The URL path of an object.
pub(crate) fn path(served: &Served, key: &str) -> String {
    let root = match served.group.is_empty() {
        true => format!("/api/{}", served.version),
        false => format!("/apis/{}/{}", served.group, served.version),
    };
    let escape = |text| utf8_percent_encode(text, ESCAPED);
    match key.split_once('/') {
        Some((namespace, name)) => {
            format!(
                "{root}/namespaces/{}/{}/{}",
                escape(namespace),
                served.plural,
                escape(name)
            )
        }
        None => format!("{root}/{}/{}", served.plural, escape(key)),
    }
}
