//! Validates `x-kubernetes-list-type`, list map keys and `x-kubernetes-map-type`.

use serde_json::Value;

use super::props::{Items, Props};
use crate::field::{FieldError, FieldPath};

pub(super) fn check(props: &Props, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let list_type = props.list_type.as_deref();
    let wrong_type = |keyword: &str, wanted: &str| {
        let detail = format!("must be {wanted} if {keyword} is specified");
        match props.type_name.as_str() {
            "" => FieldError::required(at.child("type"), detail),
            other => FieldError::invalid(at.child("type"), &other.into(), detail),
        }
    };
    if let Some(map_type) = &props.map_type {
        if props.type_name != "object" {
            errors.push(wrong_type("x-kubernetes-map-type", "object"));
        }
        if !matches!(map_type.as_str(), "atomic" | "granular") {
            let path = at.child("x-kubernetes-map-type");
            errors.push(FieldError::not_supported(
                path,
                &map_type.as_str().into(),
                &["atomic", "granular"],
            ));
        }
    }
    if list_type.is_some() && props.type_name != "array" {
        errors.push(wrong_type("x-kubernetes-list-type", "array"));
    } else if let (Some("set"), Some(item)) = (list_type, props.item()) {
        set_item(item, &at.child("items"), errors);
    }
    let path = at.child("x-kubernetes-list-type");
    if let Some(other) = list_type.filter(|other| !matches!(*other, "atomic" | "set" | "map")) {
        errors.push(FieldError::not_supported(
            path.clone(),
            &other.into(),
            &["atomic", "set", "map"],
        ));
    }
    if !props.list_map_keys.is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => errors.push(FieldError::required(path, detail)),
            Some("map") => {}
            Some(other) => errors.push(FieldError::invalid(path, &other.into(), detail)),
        }
    }
    if list_type == Some("map") {
        map_keys(props, at, errors);
    }
    if let (Some(list_type @ ("set" | "map")), Some(item)) = (list_type, props.item()) {
        nullability(props, list_type, item, &at.child("items"), errors);
    }
}

/// Items of a set must be scalars or atomic.
fn set_item(item: &Props, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let shown = Value::from(item.list_type.clone());
    match (
        item.type_name.as_str(),
        item.list_type.as_deref(),
        item.map_type.as_deref(),
    ) {
        ("array", Some(other), _) if other != "atomic" => {
            errors.push(FieldError::invalid(
                at.child("x-kubernetes-list-type"),
                &shown,
                detail,
            ));
        }
        ("object", _, other) if other != Some("atomic") => {
            errors.push(FieldError::invalid(
                at.child("x-kubernetes-map-type"),
                &shown,
                detail,
            ));
        }
        _ => {}
    }
}

fn map_keys(props: &Props, at: &FieldPath, errors: &mut Vec<FieldError>) {
    let path = at.child("x-kubernetes-list-map-keys");
    if props.list_map_keys.is_empty() {
        errors.push(FieldError::required(
            path.clone(),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let items = at.child("items");
    let item = match &props.items {
        Some(Items::One(item)) => item,
        Some(Items::Each(_)) => {
            let detail = "must only have a single schema if x-kubernetes-list-type is map";
            return errors.push(FieldError::invalid(items, &Value::Null, detail));
        }
        None => {
            let detail = "must have a schema if x-kubernetes-list-type is map";
            return errors.push(FieldError::required(items, detail));
        }
    };
    if item.type_name != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        return errors.push(FieldError::invalid(
            items.child("type"),
            &item.type_name.as_str().into(),
            detail,
        ));
    }
    let shown = Value::from(props.list_map_keys.clone());
    for (index, key) in props.list_map_keys.iter().enumerate() {
        match item.properties.get(key) {
            Some(property) if matches!(property.type_name.as_str(), "array" | "object") => {
                let path = items.child("properties").key(key).child("type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(path, &item.type_name.as_str().into(), detail));
            }
            Some(_) => {}
            None => {
                let detail = "entries must all be names of item properties";
                errors.push(FieldError::invalid(path.clone(), &shown, detail));
            }
        }
        if props.list_map_keys[..index].contains(key) {
            errors.push(FieldError::invalid(
                path.clone(),
                &shown,
                "must not contain duplicate entries",
            ));
        }
    }
}

/// Items and keys of list maps and sets must not be nullable.
fn nullability(props: &Props, list_type: &str, item: &Props, at: &FieldPath, errors: &mut Vec<FieldError>) {
    if item.nullable {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(at.child("nullable"), detail));
    }
    if list_type != "map" {
        return;
    }
    for (key, property) in props
        .list_map_keys
        .iter()
        .filter_map(|key| Some((key, item.properties.get(key)?)))
    {
        let path = at.child("properties").key(key);
        if !item.required.contains(key) && property.default.is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(path.child("default"), detail));
        }
        if property.nullable {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(path.child("nullable"), detail));
        }
    }
}
