//! Claims of ServiceAccount tokens.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::auth::user::account_user;

/// The issuer of bound tokens, and the API server's own audience.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc";
/// The issuer of legacy tokens in Secrets.
pub(super) const SECRET_ISSUER: &str = "kubernetes/serviceaccount";
/// Tolerated clock skew, in seconds.
pub(super) const LEEWAY: i64 = 60;

/// Name and UID of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Reference {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) uid: String,
}

/// The ServiceAccount of a token and the object it is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Bound {
    #[serde(default)]
    pub(crate) namespace: String,
    #[serde(default, rename = "serviceaccount")]
    pub(crate) account: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<Reference>,
    /// The time by which it should have been refreshed.
    #[serde(default, rename = "warnafter", skip_serializing_if = "Option::is_none")]
    pub(crate) warn_after: Option<i64>,
}

/// The claims of a bound token, which expires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claims {
    pub(crate) aud: Vec<String>,
    pub(crate) exp: i64,
    pub(crate) iat: i64,
    pub(crate) iss: String,
    pub(crate) jti: String,
    #[serde(rename = "kubernetes.io")]
    pub(crate) bound: Bound,
    pub(crate) nbf: i64,
    pub(crate) sub: String,
}

impl Claims {
    /// Claims valid from now on for some seconds.
    pub(crate) fn new(
        bound: Bound,
        audiences: Vec<String>,
        now: Timestamp,
        seconds: i64,
        id: String,
    ) -> Self {
        let now = now.as_second();
        Self {
            aud: audiences,
            exp: now.saturating_add(seconds),
            iat: now,
            iss: ISSUER.to_owned(),
            jti: id,
            sub: account_user(&bound.namespace, &bound.account.name),
            bound,
            nbf: now,
        }
    }

    /// Checks `nbf` and `exp`.
    pub(super) fn check_time(&self, now: Timestamp) -> Result<(), String> {
        let now = now.as_second();
        let why = if now.saturating_add(LEEWAY) < self.nbf {
            "service account token is not valid yet"
        } else if now.saturating_sub(LEEWAY) > self.exp {
            "service account token has expired"
        } else if now.saturating_add(LEEWAY) < self.iat {
            "service account token is issued in the future"
        } else {
            return Ok(());
        };
        Err(why.to_owned())
    }
}

/// The claims of a legacy token in a Secret, which does not expire.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct SecretClaims {
    #[serde(rename = "kubernetes.io/serviceaccount/namespace")]
    pub(super) namespace: String,
    #[serde(rename = "kubernetes.io/serviceaccount/secret.name")]
    pub(super) secret: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.name")]
    pub(super) name: String,
    #[serde(rename = "kubernetes.io/serviceaccount/service-account.uid")]
    pub(super) uid: String,
}

impl SecretClaims {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "iss": SECRET_ISSUER,
            "kubernetes.io/serviceaccount/namespace": self.namespace,
            "kubernetes.io/serviceaccount/secret.name": self.secret,
            "kubernetes.io/serviceaccount/service-account.name": self.name,
            "kubernetes.io/serviceaccount/service-account.uid": self.uid,
            "sub": account_user(&self.namespace, &self.name),
        })
    }
}

/// The audiences that the token and the caller have in common. A token without audiences is for the API server.
pub(super) fn accepted(token: &[String], wanted: &[String]) -> Result<Vec<String>, String> {
    let accepted: Vec<String> = wanted.iter().filter(|one| token.contains(one)).cloned().collect();
    match accepted.is_empty() {
        false => Ok(accepted),
        true => Err(format!(
            "token audiences {} is invalid for the target audiences {}",
            quoted(token),
            quoted(wanted)
        )),
    }
}

fn quoted(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_time() {
        let at = |second: i64| Timestamp::from_second(second).expect("a time");
        let claims = Claims::new(Bound::default(), vec![], at(1000), 600, "id".to_owned());
        for good in [1000, 1600, 1660, 940] {
            assert_eq!(claims.check_time(at(good)), Ok(()), "{good}");
        }
        let problem = |second| claims.check_time(at(second)).expect_err("a problem");
        assert_eq!(problem(1661), "service account token has expired");
        assert_eq!(problem(939), "service account token is not valid yet");
    }

    #[test]
    fn an_audience_in_common_is_enough() {
        let list = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(accepted(&list(&["a", "b"]), &list(&["c", "b"])), Ok(list(&["b"])));
        assert_eq!(
            accepted(&list(&["a", "b"]), &list(&["c"])),
            Err(r#"token audiences ["a" "b"] is invalid for the target audiences ["c"]"#.to_owned())
        );
    }
}
