//! Checks against the API server that nothing in use is deleted.
//!
//! A cache shows users, and does not prove that there are none: a replica that does not lead watches a kind only if the kind was served when the
//! replica started, and a watch may have failed. So kinds that are not watched are listed first, and what cannot be listed counts as in use.

use super::definition::stored;
use super::state::Served;
use super::{CompositeKey, Context};
use crate::runtime::mapper::ResolveError;
use crate::runtime::{Key, Resource};
use cambium_api::crossplane::TypeReference;
use cambium_compositions::Consuming;
use cambium_compositions::definition::{CrdState, crd_state};
use cambium_lineage::Users;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{DynamicObject, ListParams, PartialObjectMeta};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// The time limit for all requests of one check: shorter than the timeout of the webhook.
const ANSWERED: Duration = Duration::from_secs(8);

/// The page size of lists.
const PAGE: u32 = 500;

/// The users that are not being deleted; or why they are unknown.
pub(super) type Staying = Result<Users, String>;

/// Objects of a kind by namespace and name, and whether each has a deletion timestamp.
struct Listed {
    going: BTreeMap<Key, bool>,
    /// How many objects were not listed, as the API server estimates; nothing if all were.
    more: Option<usize>,
}

/// Runs within the time limit.
async fn in_time<T>(asked: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let answer = tokio::time::timeout(ANSWERED, asked).await;
    answer.unwrap_or_else(|_| Err(format!("no answer within {} seconds", ANSWERED.as_secs())))
}

impl Context {
    /// Waits until all caches are synced, within the time limit.
    pub(super) async fn synced_in_time(&self) -> Result<(), String> {
        in_time(async {
            self.synced().await;
            Ok(())
        })
        .await
    }

    /// The composite resources and claims of a definition that are not being deleted. The CRDs that it controls are deleted with it, even if it is
    /// invalid.
    pub(super) async fn defined_by(&self, definition: &Value) -> Staying {
        let uid = definition["metadata"]["uid"].as_str().unwrap_or_default();
        in_time(async {
            let (mut first, mut count) = (Vec::new(), 0);
            for crd in crd_names(definition) {
                let Some((state, kind)) = self.kind_of_crd(&crd, uid).await? else {
                    continue;
                };
                // Of a kind that is not served there is nothing. Under its name may be what somebody else defines.
                if state != CrdState::Established {
                    continue;
                }
                let listed = self
                    .list(&kind, |listed| listed.values().any(|going| !going))
                    .await?;
                let type_ = Arc::new(type_of(&kind));
                let staying = listed.going.iter().filter(|(_, going)| !**going);
                let staying: Vec<_> = staying.map(|(key, _)| consuming(&type_, key)).collect();
                if !staying.is_empty() {
                    count += staying.len() + listed.more.unwrap_or(0);
                    first.extend(staying);
                }
            }
            first.sort();
            Ok(users(first.iter(), count))
        })
        .await
    }

    /// The users of a Composition for this kind that are not being deleted; `used_by` gives them once all kinds are watched.
    pub(super) async fn staying(
        &self,
        type_: Option<&TypeReference>,
        used_by: impl Fn() -> Vec<CompositeKey>,
    ) -> Staying {
        in_time(async {
            self.synced().await;
            if let Some(type_) = type_ {
                self.see_users(type_).await?;
            }
            let all = used_by();
            let candidates: Vec<_> = all.into_iter().filter(|user| !self.is_going(user)).collect();
            self.ask_who_stays(candidates).await
        })
        .await
    }

    /// Watches all kinds whose objects may use Compositions for this kind, within the time limit.
    pub(super) async fn users_seen(&self, type_: &TypeReference) -> Result<(), String> {
        in_time(self.see_users(type_)).await
    }

    /// Watches all kinds whose objects may use Compositions for this kind; or why that fails.
    async fn see_users(&self, type_: &TypeReference) -> Result<(), String> {
        for (defined, crd, resource) in self.state.kinds_for(type_) {
            if self.state.served(&crd) == Some(Served::Seen) && self.composites(&resource).is_some() {
                continue;
            }
            match self.find_served(&crd, &defined.uid).await {
                None => return Err(format!("failed to get CustomResourceDefinition {crd:?}")),
                Some(Served::Foreign) => {
                    self.state.set_served(&defined, &crd, Served::Foreign);
                    let why = "which its CompositeResourceDefinition does not control";
                    self.expect_nothing(&crd, &defined.uid, why).await?;
                }
                Some(served) => {
                    if !self.see(&defined, &crd, &resource, served).await {
                        return Err(format!("failed to list {}", resource.api_resource.kind));
                    }
                }
            }
        }
        for name in self.state.unread_for(type_) {
            let Some(record) = self.definitions.get(&Key::cluster(&name)) else {
                continue;
            };
            let definition = record.value();
            let uid = definition["metadata"]["uid"].as_str().unwrap_or_default();
            for crd in crd_names(&definition) {
                let why = "whose CompositeResourceDefinition is invalid";
                self.expect_nothing(&crd, uid, why).await?;
            }
        }
        Ok(())
    }

    /// Fails if a kind has objects, for a kind whose objects cannot be interpreted.
    async fn expect_nothing(&self, crd: &str, uid: &str, why: &str) -> Result<(), String> {
        let Some((_, kind)) = self.kind_of_crd(crd, uid).await? else {
            return Ok(());
        };
        let listed = self
            .list(&kind, |listed| listed.values().any(|going| !going))
            .await?;
        match listed.going.values().any(|going| !going) {
            true => Err(format!("there are {}, {why}", kind.api_resource.plural)),
            false => Ok(()),
        }
    }

    /// The state of a CRD as seen from the definition with this UID, and its kind; nothing if there is no such CRD.
    async fn kind_of_crd(&self, name: &str, uid: &str) -> Result<Option<(CrdState, Resource)>, String> {
        let api: Api<CustomResourceDefinition> = self.cluster.all();
        let live = api.get_opt(name).await;
        let live =
            live.map_err(|error| format!("failed to get CustomResourceDefinition {name:?}: {error}"))?;
        Ok(live.map(|live| (crd_state(uid, Some(&live)), stored(&live))))
    }

    /// Lists the objects of a kind in all namespaces, page by page, until `enough` says so.
    async fn list(
        &self,
        kind: &Resource,
        enough: impl Fn(&BTreeMap<Key, bool>) -> bool,
    ) -> Result<Listed, String> {
        let api = self.cluster.everywhere(&kind.api_resource);
        let mut params = ListParams::default().limit(PAGE);
        let mut going = BTreeMap::new();
        loop {
            let page = api.list_metadata(&params).await;
            let page =
                page.map_err(|error| format!("failed to list {}: {error}", kind.api_resource.plural))?;
            let is_going = |object: &PartialObjectMeta<DynamicObject>| {
                let key = Key::of(&object.metadata);
                (key, object.metadata.deletion_timestamp.is_some())
            };
            going.extend(page.items.iter().map(is_going));
            let more = page.metadata.remaining_item_count.unwrap_or(0);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                None => return Ok(Listed { going, more: None }),
                Some(_) if enough(&going) => {
                    let more = Some(usize::try_from(more).unwrap_or(0));
                    return Ok(Listed { going, more });
                }
                Some(token) => params = params.continue_token(&token),
            }
        }
    }

    /// Those of these users that are not being deleted, as the API server says: its deletion timestamps may be newer than the cache. Each kind is
    /// listed once.
    async fn ask_who_stays(&self, users_here: Vec<CompositeKey>) -> Staying {
        let mut by_type: HashMap<Arc<TypeReference>, HashSet<Key>> = HashMap::new();
        for user in &users_here {
            let keys = by_type.entry(user.type_.clone()).or_default();
            keys.insert(Key::new(&user.namespace, &user.name));
        }
        let (mut first, mut count) = (Vec::new(), 0);
        for (type_, keys) in by_type {
            let Some(kind) = self.kind_of(&type_).await? else {
                continue;
            };
            let stays = |listed: &BTreeMap<Key, bool>, key: &Key| listed.get(key) == Some(&false);
            let shown = keys.len().min(Users::SHOWN);
            let enough =
                |listed: &BTreeMap<Key, bool>| keys.iter().filter(|key| stays(listed, key)).count() >= shown;
            let listed = self.list(&kind, enough).await?;
            let staying = keys.iter().filter(|key| stays(&listed.going, key));
            first.extend(staying.map(|key| consuming(&type_, key)));
            count += match listed.more {
                // Those who were not listed are as we know them.
                Some(_) => keys
                    .iter()
                    .filter(|key| listed.going.get(key) != Some(&true))
                    .count(),
                None => keys.iter().filter(|key| stays(&listed.going, key)).count(),
            };
        }
        first.sort();
        Ok(users(first.iter(), count))
    }

    /// Whether a user is being deleted or gone, as the cache says. One whose kind is not cached counts as staying.
    fn is_going(&self, user: &Consuming) -> bool {
        let Some(cache) = self
            .known_kind(&user.type_)
            .and_then(|kind| self.composites(&kind))
        else {
            return false;
        };
        let record = cache.get(&Key::new(&user.namespace, &user.name));
        record.is_none_or(|record| record.terminating())
    }

    /// The resource of a kind; nothing if there is no such kind.
    async fn kind_of(&self, type_: &TypeReference) -> Result<Option<Resource>, String> {
        if let Some(known) = self.known_kind(type_) {
            return Ok(Some(known));
        }
        match self.cluster.mapper.resolve(&type_.api_version, &type_.kind).await {
            Ok(kind) => Ok(Some(kind)),
            Err(ResolveError::Discovery { source, .. }) => {
                Err(format!("failed to discover {}: {source}", type_.api_version))
            }
            Err(_) => Ok(None),
        }
    }

    fn known_kind(&self, type_: &TypeReference) -> Option<Resource> {
        let (group, _) = type_.api_version.split_once('/')?;
        let composites = self.state.defined(group, &type_.kind);
        let composites = composites.map(|defined| defined.composite.clone());
        composites.or_else(|| self.state.claimed(group, &type_.kind)?.claim.clone())
    }
}

/// The names of the CRDs of a definition, even of an invalid one.
fn crd_names(definition: &Value) -> Vec<String> {
    let spec = &definition["spec"];
    let name = definition["metadata"]["name"].as_str().map(str::to_owned);
    let claims = spec["claimNames"]["plural"].as_str().zip(spec["group"].as_str());
    let claims = claims.map(|(plural, group)| format!("{plural}.{group}"));
    name.into_iter().chain(claims).collect()
}

fn type_of(kind: &Resource) -> TypeReference {
    TypeReference {
        api_version: kind.api_resource.api_version.clone(),
        kind: kind.api_resource.kind.clone(),
    }
}

fn consuming(type_: &Arc<TypeReference>, key: &Key) -> Consuming {
    Consuming {
        type_: type_.clone(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
    }
}

/// A number of users, the first of them by name.
fn users<'u>(first: impl Iterator<Item = &'u Consuming>, count: usize) -> Users {
    Users::new(first.take(Users::SHOWN).map(ToString::to_string), count)
}
