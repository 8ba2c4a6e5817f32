//! Tokens controller: fills in Secrets of type `kubernetes.io/service-account-token`, and deletes them with their
//! ServiceAccount.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::work_queue::{self, Controller, Step, WorkQueue};
use crate::auth::SigningKey;
use crate::auth::tokens::{Reference, issue_for_secret};
use crate::loopback::Loopback;
use crate::object;
use crate::server::Server;
use crate::store::{Entry, Event, EventKind};

const SECRETS: &str = "/secrets";
const ACCOUNTS: &str = "/serviceaccounts";
const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// Starts the controller.
pub(super) fn start(server: &Arc<Server>) {
    let (known, feed) = (
        server.store.revision(),
        server.store.feed_of(&[SECRETS, ACCOUNTS]),
    );
    let mut secrets = AccountSecrets {
        server: server.clone(),
        client: server.loopback("tokens-controller").with_agent(super::MANAGER),
        accounts: BTreeMap::new(),
    };
    let mut queue = WorkQueue::new();
    for entry in server.store.bucket(&SECRETS.into()).list("").0 {
        secrets.remember(&entry);
    }
    for key in secrets.accounts.keys() {
        queue.add(key.clone());
    }
    tokio::spawn(work_queue::run(server.clone(), feed, known, secrets, queue));
}

struct AccountSecrets {
    server: Arc<Server>,
    client: Loopback,
    /// Token Secrets, with the keys of their ServiceAccounts.
    accounts: BTreeMap<Arc<str>, String>,
}

impl AccountSecrets {
    /// Adds a Secret to the index; returns whether it is a token Secret.
    fn remember(&mut self, entry: &Entry) -> bool {
        let secret = entry.value();
        let is_token = secret.get("type").and_then(Value::as_str) == Some(TYPE);
        if is_token {
            let name = object::annotation(&secret, ACCOUNT_NAME).unwrap_or_default();
            let account = object::key(entry.namespace(), name);
            self.accounts.insert(entry.key.clone(), account);
        }
        is_token
    }
}

impl Controller for AccountSecrets {
    /// A Secret.
    type Key = Arc<str>;

    fn handle_event(&mut self, event: &Event, queue: &mut WorkQueue<Arc<str>>) {
        match &*event.bucket {
            SECRETS if event.kind == EventKind::Delete => {
                self.accounts.remove(&event.entry.key);
            }
            SECRETS if self.remember(&event.entry) => queue.add(event.entry.key.clone()),
            ACCOUNTS => {
                let concerned = self
                    .accounts
                    .iter()
                    .filter(|(_, account)| **account == *event.entry.key);
                for (secret, _) in concerned {
                    queue.add(secret.clone());
                }
            }
            _ => {}
        }
    }

    fn decide(&mut self, key: &Arc<str>, _: &mut WorkQueue<Arc<str>>) -> Step {
        let store = &self.server.store;
        let (Some(entry), Some(account)) = (store.bucket(&SECRETS.into()).get(key), self.accounts.get(key))
        else {
            return Step::idle();
        };
        let secret = entry.value();
        if object::is_deleting(&secret) {
            return Step::idle();
        }
        let account = store
            .bucket(&ACCOUNTS.into())
            .get(account)
            .map(|account| Reference {
                name: account.name().to_owned(),
                uid: account.uid.to_string(),
            });
        let authority = self.server.authority.as_deref();
        let path = format!(
            "/api/v1/namespaces/{}/secrets/{}",
            entry.namespace(),
            entry.name()
        );
        let client = self.client.clone();
        match plan(&secret, account.as_ref(), authority, &self.server.signing_key) {
            Plan::Idle => Step::idle(),
            Plan::Delete => {
                let options = json!({"preconditions": {"uid": &*entry.uid}});
                Step::act(async move { client.delete(&path, &options).await.map(drop) })
            }
            Plan::Fill(filled) => Step::act(async move { client.update(&path, &filled).await.map(drop) }),
        }
    }
}

enum Plan {
    Idle,
    /// Its ServiceAccount is gone, or was recreated with another UID.
    Delete,
    Fill(Value),
}

fn plan(secret: &Value, account: Option<&Reference>, authority: Option<&str>, key: &SigningKey) -> Plan {
    let uid = object::annotation(secret, ACCOUNT_UID).unwrap_or_default();
    let Some(account) = account.filter(|account| uid.is_empty() || uid == account.uid) else {
        return Plan::Delete;
    };
    let held = |field: &str| secret.get("data").and_then(|data| data.get(field)?.as_str());
    let mut missing: Vec<(&str, String)> = Vec::new();
    if let Some(authority) = authority {
        let authority = BASE64_STANDARD.encode(authority);
        if held("ca.crt") != Some(authority.as_str()) {
            missing.push(("ca.crt", authority));
        }
    }
    if held("namespace").is_none_or(str::is_empty) {
        missing.push(("namespace", BASE64_STANDARD.encode(object::namespace(secret))));
    }
    if held("token").is_none_or(str::is_empty) {
        let token = issue_for_secret(key, object::namespace(secret), object::name(secret), account);
        missing.extend(token.map(|token| ("token", BASE64_STANDARD.encode(token))));
    }
    if missing.is_empty() {
        return Plan::Idle;
    }
    let mut filled = secret.clone();
    for (field, value) in missing {
        if !filled.get("data").is_some_and(Value::is_object) {
            filled["data"] = json!({});
        }
        filled["data"][field] = json!(value);
    }
    let annotations = object::metadata_mut(&mut filled)
        .entry("annotations")
        .or_insert_with(|| json!({}));
    annotations[ACCOUNT_NAME] = json!(account.name);
    annotations[ACCOUNT_UID] = json!(account.uid);
    Plan::Fill(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_filled_once_and_goes_with_its_account() {
        let key = SigningKey::generate().expect("a key");
        let account = Reference {
            name: "web".to_owned(),
            uid: "u".to_owned(),
        };
        let empty = json!({"metadata": {"name": "s", "namespace": "n", "annotations": {ACCOUNT_NAME: "web"}}, "type": TYPE});
        let Plan::Fill(filled) = plan(&empty, Some(&account), Some("certificate"), &key) else {
            unreachable!("it lacks everything");
        };
        assert_eq!(object::annotation(&filled, ACCOUNT_UID), Some("u"));
        assert_eq!(filled["data"]["namespace"], "bg==");
        assert!(
            filled["data"]["token"]
                .as_str()
                .is_some_and(|token| token.len() > 100)
        );
        assert!(matches!(
            plan(&filled, Some(&account), Some("certificate"), &key),
            Plan::Idle
        ));
        assert!(matches!(
            plan(&filled, Some(&account), Some("another"), &key),
            Plan::Fill(_)
        ));
        assert!(matches!(
            plan(&filled, None, Some("certificate"), &key),
            Plan::Delete
        ));
        let other = Reference {
            uid: "v".to_owned(),
            ..account
        };
        assert!(matches!(
            plan(&filled, Some(&other), Some("certificate"), &key),
            Plan::Delete
        ));
    }
}
