//! The `authorizer` variable of CEL expressions, backed by the server's authorizer.

use std::fmt;

use cambium_cel::{Answer, Authorize, Question, Subject};

use crate::auth::{Action, Decision, ResourceAction, User};
use crate::server::Server;

/// Answers authorization checks of expressions for a user.
pub(super) struct UserAuthorizer<'a> {
    server: &'a Server,
    user: &'a User,
}

impl<'a> UserAuthorizer<'a> {
    pub(super) fn of(server: &'a Server, user: &'a User) -> Self {
        Self { server, user }
    }
}

impl fmt::Debug for UserAuthorizer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("UserAuthorizer")
            .field("user", &self.user.name)
            .finish()
    }
}

impl Authorize for UserAuthorizer<'_> {
    fn ask(&self, subject: Subject<'_>, question: &Question<'_>) -> Answer {
        let account;
        let user = match subject {
            Subject::Caller => self.user,
            Subject::ServiceAccount { namespace, name } => {
                account = User {
                    name: format!("system:serviceaccount:{namespace}:{name}"),
                    groups: vec![
                        "system:serviceaccounts".to_owned(),
                        format!("system:serviceaccounts:{namespace}"),
                    ],
                    ..User::default()
                };
                &account
            }
        };
        let action = match *question {
            Question::Path { verb, path } => Action {
                verb,
                resource: None,
                path,
            },
            Question::Resource {
                verb,
                group,
                resource,
                subresource,
                namespace,
                name,
            } => Action {
                verb,
                resource: Some(ResourceAction {
                    group,
                    resource,
                    subresource,
                    namespace,
                    name,
                }),
                path: "",
            },
        };
        match self.server.authorizer.authorize(user, &action) {
            Decision::Allow(reason) => Answer {
                allowed: true,
                reason,
            },
            Decision::NoOpinion(reason) => Answer {
                allowed: false,
                reason,
            },
        }
    }
}
