//! An inventory that is fed by a watch knows what one that is fed by a list knows.

use crate::cluster::{
    application, application_revision, composite, composition, composition_revision, definition,
    definition_revision, inventory, pinned_claim, platform, put,
};
use cambium_reports::gc::{Limits, gc};
use cambium_reports::{Inventory, history, outdated};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Everything that can be there, at one of several contents each.
fn objects() -> Vec<[Value; 2]> {
    let enforced = {
        let mut enforced = platform();
        enforced["spec"]["enforceCompositionUpdatePolicy"] = json!("Manual");
        enforced
    };
    let renamed = |mut object: Value, name: &str| {
        object["metadata"]["name"] = json!(name);
        object
    };
    vec![
        [platform(), enforced],
        [composition("a"), composition("b")],
        [composition_revision(1, "a"), composition_revision(3, "a")],
        [composition_revision(2, "b"), composition_revision(2, "b")],
        [composite("books", "stores-a"), composite("books", "stores-b")],
        [pinned_claim("mine", "stores-a"), pinned_claim("mine", "stores-b")],
        [definition("1.0.0"), definition("1.1.0")],
        [definition_revision(1, "1.0.0"), definition_revision(3, "1.0.0")],
        [definition_revision(2, "1.1.0"), definition_revision(2, "1.1.0")],
        [application("shop", "shop-v1"), application("shop", "shop-v2")],
        [application_revision(1, "shop"), application_revision(3, "shop")].map(|one| renamed(one, "shop-v1")),
        [application_revision(2, "shop"), application_revision(2, "shop")],
    ]
}

/// Everything that is answered about it.
fn answers(inventory: &Inventory) -> Value {
    let limits = Limits {
        definitions: 0,
        applications: 1,
        compositions: 0,
        grace: SignedDuration::ZERO,
    };
    let type_ = cambium_api::v1beta1::DefinitionType::Component;
    json!({
        "gc": gc(inventory, None, &limits, Timestamp::UNIX_EPOCH),
        "applications": outdated::applications(inventory, None),
        "composites": outdated::composites(inventory, None),
        "web": history::of_definition(inventory, "team", type_, "web").ok(),
        "shop": history::of_application(inventory, "team", "shop").ok(),
        "stores": history::of_composition(inventory, "stores").ok(),
    })
}

proptest! {
    #[test]
    fn puts_and_removals_lead_where_a_list_leads(
        changes in prop::collection::vec((0..objects().len(), 0..3_usize), 0..60)
    ) {
        let all = objects();
        let mut fed = inventory(&[platform()]);
        let mut there: Vec<Option<&Value>> = vec![None; all.len()];
        there[0] = Some(&all[0][0]);
        for (index, content) in changes {
            match all[index].get(content) {
                Some(object) => {
                    fed.put(object).unwrap();
                    there[index] = Some(object);
                }
                // Definitions of kinds go last in a cluster, too: their objects go with their CRDs.
                None if index == 0 => {}
                None => {
                    fed.remove(&all[index][0]).unwrap();
                    there[index] = None;
                }
            }
        }
        let listed: Vec<Value> = there.into_iter().flatten().cloned().collect();
        prop_assert_eq!(answers(&fed), answers(&inventory(&listed)));
    }
}

#[test]
fn what_cannot_be_read_is_left_out_and_named() {
    let mut inventory = Inventory::default();
    let mut nobodys = definition_revision(1, "1.0.0");
    nobodys["spec"] = json!({"revision": 1});
    let error = put(&mut inventory, &nobodys).unwrap_err().to_string();
    assert!(
        error.starts_with("DefinitionRevision team/web-v1.0.0 is left out: "),
        "{error}"
    );
    let error = put(&mut inventory, &composite("books", "x"))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "XStore books is left out: no CompositeResourceDefinition defines XStore of \"example.org\""
    );
}
