//! Bearer token authentication: static tokens, and tokens issued for ServiceAccounts.
//!
//! A ServiceAccount token is valid if the cluster's key signed it, its audience matches, it has not expired, and the
//! ServiceAccount and the object it is bound to still exist with the same UIDs. All of that is checked at each use.

mod claims;
mod jwt;
mod key;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::User;
use crate::object;
use crate::server::Server;
use crate::store::{Entry, Store};
use claims::{LEEWAY, SECRET_ISSUER, SecretClaims};
use jwt::Token;

pub(crate) use claims::{Bound, Claims, ISSUER, Reference};
pub use key::SigningKey;

/// The error for an unknown token.
const UNKNOWN: &str = "invalid bearer token";

/// Static bearer tokens and their users.
#[derive(Clone, Default)]
pub struct Tokens(HashMap<String, Arc<User>>);

impl Tokens {
    /// Adds a token.
    pub fn insert(&mut self, token: impl Into<String>, user: User) {
        self.0.insert(token.into(), Arc::new(user));
    }
}

/// An authenticated token.
pub(crate) struct Recognised {
    pub(crate) user: Arc<User>,
    /// The requested audiences that the token is valid for.
    pub(crate) audiences: Vec<String>,
}

/// The API server's own audiences.
pub(crate) fn own_audiences() -> Vec<String> {
    vec![ISSUER.to_owned()]
}

/// The OpenID Connect discovery document.
pub(crate) fn configuration() -> Value {
    json!({
        "issuer": ISSUER,
        "jwks_uri": format!("{ISSUER}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [key::ALGORITHM],
    })
}

/// Authenticates a token; the error is shown in TokenReviews, never to the bearer.
pub(crate) fn recognise(server: &Server, token: &str, audiences: &[String]) -> Result<Recognised, String> {
    if let Some(user) = server.tokens.0.get(token) {
        let audiences = claims::accepted(&own_audiences(), audiences).map_err(|_| UNKNOWN.to_owned())?;
        let user = user.clone();
        return Ok(Recognised { user, audiences });
    }
    let unknown = || UNKNOWN.to_owned();
    let parsed = Token::parse(token).ok_or_else(unknown)?;
    let issuer: Value = parsed.claims().ok_or_else(unknown)?;
    let issuer = issuer.get("iss").and_then(Value::as_str).unwrap_or_default();
    if issuer != ISSUER && issuer != SECRET_ISSUER {
        return Err(unknown());
    }
    let also = |why: String| format!("[{UNKNOWN}, {why}]");
    if !parsed.is_signed_by(&server.signing_key) {
        return Err(also(
            "go-jose/go-jose: error in cryptographic primitive".to_owned(),
        ));
    }
    let recognised = match issuer {
        ISSUER => of_account(&server.store, &parsed, server.sources.now(), audiences),
        _ => of_secret(&server.store, &parsed, token, audiences),
    };
    recognised.map_err(also)
}

/// Issues a bound token for a ServiceAccount; `None` when signing fails.
pub(crate) fn issue(key: &SigningKey, claims: &Claims) -> Option<String> {
    jwt::encode(&serde_json::to_value(claims).ok()?, key)
}

/// Issues a legacy token that is stored in a Secret and valid while that exists.
pub(crate) fn issue_for_secret(
    key: &SigningKey,
    namespace: &str,
    secret: &str,
    account: &Reference,
) -> Option<String> {
    let claims = SecretClaims {
        namespace: namespace.to_owned(),
        secret: secret.to_owned(),
        name: account.name.clone(),
        uid: account.uid.clone(),
    };
    jwt::encode(&claims.to_json(), key)
}

fn of_account(
    store: &Store,
    token: &Token<'_>,
    now: Timestamp,
    audiences: &[String],
) -> Result<Recognised, String> {
    let claims: Claims = token.claims().ok_or_else(|| UNKNOWN.to_owned())?;
    let audiences = claims::accepted(&claims.aud, audiences)?;
    claims.check_time(now)?;
    let bound = &claims.bound;
    let alive = Alive { store, now };
    alive.account(&bound.namespace, &bound.account)?;
    if let Some(secret) = &bound.secret {
        alive.bound("/secrets", "secret", &bound.namespace, secret)?;
    }
    if let Some(pod) = &bound.pod {
        alive.bound("/pods", "pod", &bound.namespace, pod)?;
    } else if let Some(node) = &bound.node {
        alive.bound("/nodes", "node", "", node)?;
    }
    let mut user = User::service_account(&bound.namespace, &bound.account.name);
    user.uid.clone_from(&bound.account.uid);
    let mut add = |key: &str, value: &str| {
        if !value.is_empty() {
            let key = format!("authentication.kubernetes.io/{key}");
            user.extra.insert(key, vec![value.to_owned()]);
        }
    };
    add("credential-id", &format!("JTI={}", claims.jti));
    for (kind, reference) in [("pod", &bound.pod), ("node", &bound.node)] {
        if let Some(reference) = reference {
            add(&format!("{kind}-name"), &reference.name);
            add(&format!("{kind}-uid"), &reference.uid);
        }
    }
    let user = Arc::new(user);
    Ok(Recognised { user, audiences })
}

fn of_secret(
    store: &Store,
    token: &Token<'_>,
    text: &str,
    audiences: &[String],
) -> Result<Recognised, String> {
    let claims: SecretClaims = token.claims().ok_or_else(|| UNKNOWN.to_owned())?;
    let audiences = claims::accepted(&own_audiences(), audiences)?;
    let invalidated = || "service account token has been invalidated".to_owned();
    let secret = store.bucket(&"/secrets".into());
    let secret = secret.get(&object::key(&claims.namespace, &claims.secret));
    let secret = secret.ok_or_else(invalidated)?.value();
    let held = object::at(&secret, "data.token").and_then(Value::as_str);
    let held = held.and_then(|held| base64::Engine::decode(&base64::prelude::BASE64_STANDARD, held).ok());
    if object::is_deleting(&secret) || held.as_deref() != Some(text.as_bytes()) {
        return Err(invalidated());
    }
    let account = Reference {
        name: claims.name,
        uid: claims.uid,
    };
    let alive = Alive {
        store,
        now: Timestamp::MAX,
    };
    alive.account(&claims.namespace, &account)?;
    let mut user = User::service_account(&claims.namespace, &account.name);
    user.uid = account.uid;
    let user = Arc::new(user);
    Ok(Recognised { user, audiences })
}

/// Checks that the objects a token is bound to still exist.
struct Alive<'a> {
    store: &'a Store,
    now: Timestamp,
}

impl Alive<'_> {
    fn account(&self, namespace: &str, account: &Reference) -> Result<(), String> {
        let bucket = self.store.bucket(&"/serviceaccounts".into());
        let Some(entry) = bucket.get(&object::key(namespace, &account.name)) else {
            return Err(format!("serviceaccounts {:?} not found", account.name));
        };
        if *entry.uid != *account.uid {
            return Err(format!(
                "service account UID ({}) does not match claim ({})",
                entry.uid, account.uid
            ));
        }
        match self.was_deleted(&entry) {
            true => Err(format!(
                "service account {namespace}/{} has been deleted",
                account.name
            )),
            false => Ok(()),
        }
    }

    fn bound(&self, bucket: &str, kind: &str, namespace: &str, reference: &Reference) -> Result<(), String> {
        let bucket = self.store.bucket(&bucket.into());
        let entry = bucket.get(&object::key(namespace, &reference.name));
        let Some(entry) = entry.filter(|entry| !self.was_deleted(entry)) else {
            return Err("service account token has been invalidated".to_owned());
        };
        match *entry.uid == *reference.uid {
            true => Ok(()),
            false => Err(format!(
                "{kind} UID ({}) does not match service account {kind} ref claim ({})",
                entry.uid, reference.uid
            )),
        }
    }

    /// Whether the object was deleted more than the clock skew ago and only finalizers keep it.
    fn was_deleted(&self, entry: &Entry) -> bool {
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            deletion_timestamp: Option<String>,
        }
        let deleted = serde_json::from_slice::<Object>(&entry.json)
            .ok()
            .and_then(|object| object.metadata.deletion_timestamp?.parse::<Timestamp>().ok());
        deleted.is_some_and(|at| at.as_second() < self.now.as_second().saturating_sub(LEEWAY))
    }
}
