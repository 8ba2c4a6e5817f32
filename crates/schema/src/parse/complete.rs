//! Checks that all fields in junctors are specified outside of them.

use super::props::Props;
use crate::field::{FieldError, FieldPath};

pub(super) fn check(props: &Props, at: &FieldPath, errors: &mut Vec<FieldError>) {
    junctors(props, props, at, at, errors);
}

fn junctors(
    narrowing: &Props,
    specified: &Props,
    at: &FieldPath,
    from: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    if let Some(nested) = &narrowing.not {
        compare(nested, specified, at, &from.child("not"), errors);
    }
    let several = [
        ("allOf", &narrowing.all_of),
        ("anyOf", &narrowing.any_of),
        ("oneOf", &narrowing.one_of),
    ];
    for (keyword, schemas) in several {
        for (index, nested) in schemas.iter().enumerate() {
            compare(nested, specified, at, &from.child(keyword).index(index), errors);
        }
    }
}

fn compare(
    narrowing: &Props,
    specified: &Props,
    at: &FieldPath,
    from: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let missing =
        |at: FieldPath, from: FieldPath| FieldError::required(at, format!("because it is defined in {from}"));
    junctors(narrowing, specified, at, from, errors);
    if let Some(item) = narrowing.item() {
        let (at, from) = (at.child("items"), from.child("items"));
        match specified.item() {
            Some(specified) => compare(item, specified, &at, &from, errors),
            None => errors.push(missing(at, from)),
        }
    }
    for (name, property) in &narrowing.properties {
        let (at, from) = (
            at.child("properties").key(name),
            from.child("properties").key(name),
        );
        match specified.properties.get(name) {
            Some(specified) => compare(property, specified, &at, &from, errors),
            None => errors.push(missing(at, from)),
        }
    }
}
