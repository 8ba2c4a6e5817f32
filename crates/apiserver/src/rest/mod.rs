//! The REST verbs, one file each; `present` renders responses.
//!
//! ```text
//! request ─► mod: which verb on which resource?
//!    get │ list │ watch ──────────────────────────────────► present ─► response
//!    create ─► intake ─┬──────────────────────► write ────► present
//!    update ─► intake ─┤                          ▲
//!    patch ────────────┴─► change: tries, again ──┘
//!    delete ─► finalizers, grace, propagation ─► store ───► present
//! ```
//!
//! `write` is the path of every write; what kinds ask of it is [`cambium_builtin::Strategy`].

mod change;
mod checks;
mod create;
mod delete;
mod evict;
mod get;
mod identity;
mod intake;
mod list;
mod managed;
mod patch;
mod prepare;
mod present;
mod review;
mod scale;
mod subresource;
mod table;
mod token;
mod update;
mod watch;
mod write;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::Method;

use crate::auth::User;
use crate::registry::Served;
use crate::request::{Options, ResourcePath};
use crate::server::Server;
use crate::status::{Result, Status};
use crate::wire::{self, Decoded, Media, Representation, Response, SPOKEN, Shape};

/// A parsed request on a resource.
pub(crate) struct Call {
    pub(crate) server: Arc<Server>,
    pub(crate) user: Arc<User>,
    pub(crate) path: ResourcePath,
    pub(crate) options: Options,
    pub(crate) resource: Arc<Served>,
    pub(crate) representation: Representation,
    pub(crate) content_type: Option<String>,
    pub(crate) user_agent: String,
    pub(crate) method: Method,
    pub(crate) body: Bytes,
    pub(crate) warnings: Arc<Warnings>,
}

/// Warnings for the response headers.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn add(&self, warning: impl Into<String>) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let warning = warning.into();
        if !list.contains(&warning) {
            list.push(warning);
        }
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Call {
    /// The field manager of the request.
    pub(crate) fn manager(&self) -> String {
        if !self.options.field_manager.is_empty() {
            return self.options.field_manager.clone();
        }
        let prefix = self.user_agent.split('/').next().unwrap_or_default();
        match prefix
            .chars()
            .filter(|c| !c.is_control())
            .take(128)
            .collect::<String>()
        {
            text if text.is_empty() => "unknown".to_owned(),
            text => text,
        }
    }

    /// Whether the request is a PUT.
    pub(crate) fn is_update(&self) -> bool {
        self.method == Method::PUT
    }

    /// Whether the request is a PATCH.
    pub(crate) fn is_patch(&self) -> bool {
        self.method == Method::PATCH
    }

    /// Decodes the request body.
    pub(crate) fn decode(&self) -> Result<Decoded> {
        let media = Media::of(self.content_type.as_deref())?;
        wire::decode(media, &self.body).map_err(|why| self.unrecognized(&why))
    }

    /// 400 for a body without a recognizable kind.
    pub(crate) fn unrecognized(&self, why: &str) -> Status {
        let (kind, shown) = (&self.resource.kind, wire::summary(&self.body));
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
        ))
    }

    pub(crate) fn not_found(&self) -> Status {
        Status::not_found(&self.resource.group, &self.resource.plural, &self.path.name)
    }

    /// The namespace of the object or objects; empty for cluster-scoped resources.
    pub(crate) fn namespace(&self) -> &str {
        if self.resource.namespaced {
            &self.path.namespace
        } else {
            ""
        }
    }

    /// The bucket key of the named object.
    pub(crate) fn key(&self) -> String {
        crate::object::key(self.namespace(), &self.path.name)
    }
}

/// The authorization verb of a request.
pub(crate) fn verb(method: &Method, path: &ResourcePath, options: &Options) -> &'static str {
    let one = !path.name.is_empty();
    match method.as_str() {
        "GET" if path.watch || options.watch && !one => "watch",
        "GET" if one => "get",
        "GET" => "list",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if one => "delete",
        "DELETE" => "deletecollection",
        _ => "",
    }
}

/// Serves a request.
pub(crate) async fn serve(call: Call) -> Result<Response> {
    let verb = verb(&call.method, &call.path, &call.options);
    if !call.path.subresource.is_empty() {
        return subresource::serve(call, verb).await;
    }
    let named = !call.path.name.is_empty();
    let lacks_namespace = call.resource.namespaced && call.path.namespace.is_empty();
    match verb {
        // Reviews have no printer columns.
        "create" if !call.resource.is_stored() && call.representation.shape == Shape::Table => {
            Err(Status::not_acceptable(&SPOKEN))
        }
        "create" if !call.resource.is_stored() => review::review(&call),
        _ if !call.resource.verbs().contains(&verb) => Err(Status::verb_not_allowed()),
        // Paths that name too much or too little.
        "get" | "update" | "patch" | "delete" if lacks_namespace => Err(Status::no_such_path()),
        "create" if named || lacks_namespace => Err(Status::verb_not_allowed()),
        "update" | "patch" if !named => Err(Status::verb_not_allowed()),
        "deletecollection" if lacks_namespace => Err(Status::verb_not_allowed()),
        "create"
            if call
                .resource
                .custom()
                .is_some_and(|(definition, _)| definition.terminating) =>
        {
            create::refuse_while_terminating(&call)
        }
        "get" => get::get(&call).await,
        "list" => list::list(&call).await,
        "watch" => watch::watch(call).await,
        "create" => create::create(&call).await,
        "update" => update::update(&call).await,
        "patch" => patch::patch(&call).await,
        "delete" => delete::delete(&call).await,
        "deletecollection" => delete::delete_collection(&call).await,
        _ => Err(Status::verb_not_allowed()),
    }
}
