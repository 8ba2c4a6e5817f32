//! Asks the API server's authorizer what a user may do: `SubjectAccessReview`.

use crate::cluster::Cluster;
use cambium_webhooks::admission::UserInfo;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::Error;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

/// Whether a user has the permission in `resource_attributes`, those of a `SubjectAccessReview`. Denied if the review fails.
pub(crate) async fn may(cluster: &Cluster, user: &UserInfo, resource_attributes: Value) -> bool {
    let review = json!({"spec": {
        "user": user.username, "uid": user.uid, "groups": user.groups, "resourceAttributes": resource_attributes,
    }});
    let allowed = async {
        let review = serde_json::from_value(review).map_err(Error::SerdeError)?;
        let api: Api<SubjectAccessReview> = cluster.all();
        let answer = api.create(&PostParams::default(), &review).await?;
        Ok::<_, Error>(answer.status.is_some_and(|status| status.allowed))
    };
    allowed.await.unwrap_or_else(|error| {
        tracing::warn!(user = user.username, %error, "failed to create a SubjectAccessReview; denied");
        false
    })
}
