//! Impersonation: `Impersonate-*` headers, with the constrained modes of `impersonate:user-info`.
//!
//! The requestor must be authorized to impersonate the user. Constrained modes are tried first: they need a verb for the
//! action (`impersonate-on:user-info:list`) beside the verb for the user (`impersonate:user-info`). The last mode is the
//! legacy verb `impersonate` alone. The first mode that is allowed is used; if none is, the first denial is returned.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::action::{Action, Authorizer, ResourceAction, refusal, require};
use super::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_groups, account_of};
use crate::status::{Result, Status};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA: &str = "impersonate-extra-";
/// The extra key of a ServiceAccount user that names its node.
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// From this many values on, one wildcard check is made before the checks of each value.
const MANY: usize = 4;

/// The user that the headers ask to impersonate, if any.
pub(crate) fn requested_user(headers: &HeaderMap) -> Result<Option<User>> {
    if !headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"))
    {
        return Ok(None);
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(EXTRA) {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            extra.entry(key).or_default().push(text(value));
        }
    }
    let user = User {
        name: first(USER),
        uid: first(UID),
        groups: headers.get_all(GROUP).iter().map(text).collect(),
        extra,
    };
    match (user.name.is_empty(), is_only_a_name(&user)) {
        (false, _) => Ok(Some(user)),
        (true, true) => Ok(None),
        (true, false) => Err(Status::bad_request(format!(
            "requested {} without impersonating a user name",
            as_go_shows(&user)
        ))),
    }
}

/// The user as Go prints the struct, for error messages.
fn as_go_shows(user: &User) -> String {
    let list = |list: &[String]| {
        let items: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
        match items.is_empty() {
            true => "[]string(nil)".to_owned(),
            false => format!("[]string{{{}}}", items.join(", ")),
        }
    };
    let extra: Vec<String> = user
        .extra
        .iter()
        .map(|(key, values)| format!("{key:?}:{}", list(values)))
        .collect();
    let extra = match extra.is_empty() {
        true => "(nil)".to_owned(),
        false => format!("{{{}}}", extra.join(", ")),
    };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{}, Extra:map[string][]string{extra}}}",
        user.name,
        user.uid,
        list(&user.groups)
    )
}

/// The effective user of the request: the impersonated one, if the requestor is authorized.
pub(crate) fn impersonate(
    authorizer: &dyn Authorizer,
    requestor: &User,
    wanted: &User,
    action: &Action<'_>,
) -> Result<User> {
    let mut refused = None;
    for mode in MODES.iter().filter(|mode| (mode.fits)(wanted, requestor)) {
        match mode.check(authorizer, requestor, wanted, action) {
            Ok(user) => return Ok(user),
            Err(status) => refused = refused.or(Some(status)),
        }
    }
    Err(refused.unwrap_or_else(|| Status::internal("all impersonation modes failed")))
}

/// An impersonation mode.
struct Mode {
    /// Empty for the legacy mode, which is unconstrained.
    name: &'static str,
    /// Whether the mode applies to this requestor and user.
    fits: fn(&User, &User) -> bool,
}

const MODES: [Mode; 5] = [
    Mode {
        name: "associated-node",
        fits: |wanted, requestor| {
            let own = requestor.extra.get(NODE_NAME).map(Vec::as_slice);
            let wanted_node = node_of(&wanted.name);
            is_only_a_name(wanted)
                && account_of(&requestor.name).is_some()
                && wanted_node.is_some_and(|node| matches!(own, Some([own]) if own == node))
        },
    },
    Mode {
        name: "arbitrary-node",
        fits: |wanted, _| is_only_a_name(wanted) && node_of(&wanted.name).is_some(),
    },
    Mode {
        name: "serviceaccount",
        fits: |wanted, _| is_only_a_name(wanted) && account_of(&wanted.name).is_some(),
    },
    Mode {
        name: "user-info",
        fits: |wanted, _| node_of(&wanted.name).is_none() && account_of(&wanted.name).is_none(),
    },
    Mode {
        name: "",
        fits: |_, _| true,
    },
];

fn is_only_a_name(user: &User) -> bool {
    user.uid.is_empty() && user.groups.is_empty() && user.extra.is_empty()
}

fn node_of(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    cambium_schema::names::dns1123_subdomain(name)
        .is_empty()
        .then_some(name)
}

impl Mode {
    fn is_constrained(&self) -> bool {
        !self.name.is_empty()
    }

    fn check(
        &self,
        authorizer: &dyn Authorizer,
        requestor: &User,
        wanted: &User,
        action: &Action<'_>,
    ) -> Result<User> {
        if self.is_constrained() {
            let verb = format!("impersonate-on:{}:{}", self.name, action.verb);
            let doing = Action {
                verb: &verb,
                ..action.clone()
            };
            require(authorizer, requestor, &doing)?;
        }
        let verb = match self.is_constrained() {
            true => format!("impersonate:{}", self.name),
            false => "impersonate".to_owned(),
        };
        let asker = Asker {
            mode: self,
            authorizer,
            requestor,
            verb: &verb,
        };
        let mut user = wanted.clone();
        asker.name(wanted, &mut user)?;
        if !wanted.uid.is_empty() {
            asker.ask("authentication.k8s.io", "uids", "", &wanted.uid)?;
        }
        asker.groups(&wanted.groups)?;
        asker.extra(&wanted.extra)?;
        let group = match (user.name.as_str(), user.is_in(UNAUTHENTICATED)) {
            (ANONYMOUS, _) => UNAUTHENTICATED,
            (_, false) => AUTHENTICATED,
            (_, true) => return Ok(user),
        };
        if !user.is_in(group) {
            user.groups.push(group.to_owned());
        }
        Ok(user)
    }
}

/// Authorizes each part of the user (name, groups, UID, extra) in turn.
struct Asker<'a> {
    mode: &'a Mode,
    authorizer: &'a dyn Authorizer,
    requestor: &'a User,
    verb: &'a str,
}

impl Asker<'_> {
    /// The API group of the resources `users` and `groups`.
    fn api_group(&self) -> &'static str {
        match self.mode.is_constrained() {
            true => "authentication.k8s.io",
            false => "",
        }
    }

    fn ask(&self, group: &str, resource: &str, subresource: &str, name: &str) -> Result<()> {
        let resource = ResourceAction {
            group,
            resource,
            subresource,
            namespace: "",
            name,
        };
        require(self.authorizer, self.requestor, &Action::on(self.verb, resource))
    }

    fn name(&self, wanted: &User, user: &mut User) -> Result<()> {
        let node = node_of(&wanted.name).filter(|_| self.mode.is_constrained());
        if let Some(node) = node {
            user.groups = vec!["system:nodes".to_owned()];
            // Which node it is has been looked at already.
            let name = if self.mode.name == "associated-node" {
                "*"
            } else {
                node
            };
            return self.ask(self.api_group(), "nodes", "", name);
        }
        let Some((namespace, name)) = account_of(&wanted.name) else {
            return self.ask(self.api_group(), "users", "", &wanted.name);
        };
        if wanted.groups.is_empty() {
            user.groups = account_groups(namespace);
        }
        let resource = ResourceAction {
            group: self.api_group(),
            resource: "serviceaccounts",
            subresource: "",
            namespace,
            name,
        };
        require(self.authorizer, self.requestor, &Action::on(self.verb, resource))
    }

    fn groups(&self, groups: &[String]) -> Result<()> {
        let forbidden = |name: &str, why: &str| {
            let resource = ResourceAction {
                group: self.api_group(),
                resource: "groups",
                name,
                ..ResourceAction::default()
            };
            Err(refusal(self.requestor, &Action::on(self.verb, resource), why))
        };
        if self.mode.is_constrained() {
            if groups.iter().any(String::is_empty) {
                return forbidden("", "impersonating the empty string group is not allowed");
            }
            if groups.iter().any(|group| group == MASTERS) {
                return forbidden(MASTERS, "impersonating the system:masters group is not allowed");
            }
            if groups.len() >= MANY && self.ask(self.api_group(), "groups", "", "*").is_ok() {
                return Ok(());
            }
        }
        groups
            .iter()
            .try_for_each(|group| self.ask(self.api_group(), "groups", "", group))
    }

    fn extra(&self, extra: &BTreeMap<String, Vec<String>>) -> Result<()> {
        let api_group = "authentication.k8s.io";
        if self.mode.is_constrained() {
            if let Some(why) = extra.iter().find_map(|(key, values)| problem_of(key, values)) {
                let resource = ResourceAction {
                    group: api_group,
                    resource: "userextras",
                    ..ResourceAction::default()
                };
                return Err(refusal(self.requestor, &Action::on(self.verb, resource), &why));
            }
            let many = extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && self.ask(api_group, "userextras", "*", "*").is_ok() {
                return Ok(());
            }
        }
        let pairs = extra
            .iter()
            .flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        for (key, value) in pairs {
            self.ask(api_group, "userextras", key, value)?;
        }
        Ok(())
    }
}

/// Validation error of an extra key, in constrained modes.
fn problem_of(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let prefixed = key.split_once('/').is_some_and(|(domain, path)| {
        cambium_schema::names::dns1123_subdomain(domain).is_empty() && !path.is_empty()
    });
    if !prefixed {
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {key:?}: \
             must be a domain-prefixed path (such as \"acme.io/foo\")"
        ));
    }
    let empty = values.iter().any(String::is_empty);
    empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Decision;

    /// Allows what is in a list: `verb group/resource name`.
    struct Listed(&'static [&'static str]);

    impl Authorizer for Listed {
        fn authorize(&self, _: &User, action: &Action<'_>) -> Decision {
            let resource = action.resource.clone().unwrap_or_default();
            let asked = format!(
                "{} {}/{} {}",
                action.verb, resource.group, resource.resource, resource.name
            );
            match self.0.contains(&asked.as_str()) {
                true => Decision::Allow(String::new()),
                false => Decision::NoOpinion(String::new()),
            }
        }
    }

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, http::HeaderValue::from_static(value));
        }
        headers
    }

    fn try_to_be(
        rights: &'static [&'static str],
        pairs: &[(&'static str, &'static str)],
    ) -> Result<User, String> {
        let wanted = requested_user(&headers(pairs)).map_err(|status| status.message)?;
        let wanted = wanted.ok_or("nobody is wanted")?;
        let pods = ResourceAction {
            resource: "pods",
            ..ResourceAction::default()
        };
        let requestor = User::authenticated("ada", &[]);
        impersonate(&Listed(rights), &requestor, &wanted, &Action::on("list", pods))
            .map_err(|status| status.message)
    }

    #[test]
    fn the_old_right_is_enough() {
        let rights = &["impersonate /users bob", "impersonate /groups friends"];
        let user = try_to_be(rights, &[(USER, "bob"), (GROUP, "friends")]).expect("allowed");
        assert_eq!(
            (user.name.as_str(), user.groups.join(" ").as_str()),
            ("bob", "friends system:authenticated")
        );
        let refused = try_to_be(rights, &[(USER, "bob"), (GROUP, "foes")]).expect_err("refused");
        assert_eq!(
            refused,
            "pods is forbidden: User \"ada\" cannot impersonate-on:user-info:list resource \"pods\" in API group \"\" at the cluster scope"
        );
    }

    #[test]
    fn a_constrained_right_is_for_whom_and_for_what() {
        let both = &[
            "impersonate-on:user-info:list /pods ",
            "impersonate:user-info authentication.k8s.io/users bob",
        ];
        assert!(try_to_be(both, &[(USER, "bob")]).is_ok());
        assert!(
            try_to_be(
                &["impersonate:user-info authentication.k8s.io/users bob"],
                &[(USER, "bob")]
            )
            .is_err()
        );
        let masters = try_to_be(both, &[(USER, "bob"), (GROUP, MASTERS)]).expect_err("refused");
        assert!(
            masters.ends_with("impersonating the system:masters group is not allowed"),
            "{masters}"
        );
    }

    #[test]
    fn a_service_account_brings_its_groups() {
        let rights = &["impersonate /serviceaccounts web"];
        let user = try_to_be(rights, &[(USER, "system:serviceaccount:shop:web")]).expect("allowed");
        assert_eq!(
            user.groups,
            [
                "system:serviceaccounts",
                "system:serviceaccounts:shop",
                "system:authenticated"
            ]
        );
    }

    #[test]
    fn nobody_is_impersonated_without_a_name() {
        assert_eq!(requested_user(&headers(&[("accept", "x")])), Ok(None));
        let refused = try_to_be(
            &[],
            &[(GROUP, "g"), ("impersonate-extra-Acme.com%2fproject", "x")],
        )
        .expect_err("refused");
        assert_eq!(
            refused,
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string{"acme.com/project":[]string{"x"}}} without impersonating a user name"#
        );
    }
}
