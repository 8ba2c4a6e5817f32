//! The plan of a registration: compares an existing object with the wanted one.

use serde_json::Value;

use super::{Registration, Target, configuration, crd};

/// What to do with one object.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Nothing: it is as it should be, or not ours to change now.
    Nothing,
    /// Make it.
    Create(Value),
    /// Make it so, if nobody has changed it since.
    Replace(Value),
}

/// Decides for one object. `bundle` is what its `caBundle` must say.
pub fn plan(registration: &Registration, target: &Target, observed: Option<&Value>, bundle: &str) -> Write {
    let Some(observed) = observed else {
        return match target {
            Target::Configuration(asks, _) if registration.webhooks(*asks).is_empty() => Write::Nothing,
            Target::Configuration(asks, _) => {
                Write::Create(configuration::created(registration, *asks, bundle))
            }
            Target::Crd(crd) => Write::Create(crd::wanted(registration, crd, bundle)),
        };
    };
    if !observed["metadata"]["deletionTimestamp"].is_null() {
        return Write::Nothing;
    }
    let wanted = match target {
        Target::Configuration(asks, _) => {
            configuration::overlay(&configuration::wanted(registration, *asks, bundle), observed)
        }
        Target::Crd(crd) => crd::overlay(&crd::wanted(registration, crd, bundle), observed),
    };
    match wanted == *observed {
        true => Write::Nothing,
        false => Write::Replace(wanted),
    }
}

/// Puts the fields of one object over those of another.
pub(super) fn put_over(fields: &Value, under: &mut Value) {
    for (key, value) in fields.as_object().into_iter().flatten() {
        under[key.as_str()] = value.clone();
    }
}

/// The element of a list that is called so.
pub(super) fn named<'a>(list: &'a Value, name: &Value) -> Option<&'a Value> {
    list.as_array()
        .into_iter()
        .flatten()
        .find(|one| one["name"] == *name)
}
