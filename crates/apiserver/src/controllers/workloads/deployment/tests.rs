//! Deployments against a model of ReplicaSets: every step keeps within the limits, and every rollout completes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn deployment(replicas: i64, surge: Value, unavailable: Value, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "n", "uid": "d", "generation": 1},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}}}})
}

/// A Deployment whose ReplicaSets scale at once; the test controls availability.
struct Model {
    observed: Observed,
    now: Timestamp,
    serial: i64,
    events: Vec<String>,
}

impl Model {
    fn new(deployment: Value) -> Self {
        let observed = Observed {
            deployment,
            sets: vec![],
            orphans: vec![],
            living_pods: vec![],
            refusal: None,
        };
        Self {
            observed,
            now: Timestamp::UNIX_EPOCH,
            serial: 0,
            events: vec![],
        }
    }

    /// One reconcile; returns the number of writes.
    fn step(&mut self) -> usize {
        let plan = plan(&self.observed, self.now);
        let count = plan.writes.len();
        for write in plan.writes {
            match write {
                Write::Create(mut set) => {
                    self.serial += 1;
                    set["metadata"]["uid"] = json!(format!("s{}", self.serial));
                    let created = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_secs(self.serial);
                    set["metadata"]["creationTimestamp"] = json!(object::timestamp(created));
                    self.observed.sets.push(set);
                }
                Write::Replace(set) | Write::Patch(set, _) => {
                    let place = self
                        .observed
                        .sets
                        .iter_mut()
                        .find(|one| one["metadata"]["uid"] == set["metadata"]["uid"]);
                    *place.unwrap() = set;
                }
                Write::Status(deployment) => self.observed.deployment = deployment,
                Write::Delete(set) => self
                    .observed
                    .sets
                    .retain(|one| one["metadata"]["uid"] != set["metadata"]["uid"]),
                Write::Event { message, .. } => self.events.push(message),
                other => panic!("{other:?}"),
            }
        }
        count
    }

    /// Gives the ReplicaSets their pods, of which at most this many more become available.
    fn pods(&mut self, mut more: i64, works: impl Fn(&str) -> bool) {
        for set in &mut self.observed.sets {
            let replicas = set["spec"]["replicas"].as_i64().unwrap();
            let available = set["status"]["availableReplicas"]
                .as_i64()
                .unwrap_or_default()
                .min(replicas);
            let image = set["spec"]["template"]["spec"]["containers"][0]["image"]
                .as_str()
                .unwrap();
            let gain = if works(image) {
                (replicas - available).min(more)
            } else {
                0
            };
            more -= gain;
            set["status"] = json!({"replicas": replicas, "readyReplicas": available + gain, "availableReplicas": available + gain});
        }
    }

    fn sizes(&self) -> BTreeMap<String, i64> {
        let image = |set: &Value| {
            set["spec"]["template"]["spec"]["containers"][0]["image"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        self.observed
            .sets
            .iter()
            .map(|set| (image(set), set["spec"]["replicas"].as_i64().unwrap()))
            .collect()
    }

    fn settle(&mut self, works: impl Fn(&str) -> bool) {
        for _ in 0..200 {
            self.pods(i64::MAX / 2, &works);
            if self.step() == 0 {
                return;
            }
        }
        panic!("does not settle");
    }

    fn set_image(&mut self, image: &str) {
        self.observed.deployment["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        let generation = self.observed.deployment["metadata"]["generation"]
            .as_i64()
            .unwrap();
        self.observed.deployment["metadata"]["generation"] = json!(generation + 1);
    }

    fn progressing(&self) -> (String, String) {
        let condition = crate::controllers::workloads::conditions::find(
            read::list(&self.observed.deployment, "status.conditions"),
            "Progressing",
        )
        .cloned()
        .unwrap_or_default();
        (
            read::text(&condition, "reason").to_owned(),
            read::text(&condition, "message").to_owned(),
        )
    }
}

#[test]
fn a_new_deployment_becomes_available_and_then_rests() {
    let mut model = Model::new(deployment(3, json!("25%"), json!("25%"), "a"));
    model.settle(|_| true);
    let hash = model.observed.sets[0]["metadata"]["labels"][template::TEMPLATE_HASH]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(model.observed.sets[0]["metadata"]["name"], format!("web-{hash}"));
    assert_eq!(
        model.observed.sets[0]["spec"]["selector"]["matchLabels"],
        json!({"app": "web", "pod-template-hash": hash})
    );
    let status = &model.observed.deployment["status"];
    for count in [
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    ] {
        assert_eq!(status[count], 3, "{count}");
    }
    assert_eq!(status.get("unavailableReplicas"), None);
    assert_eq!(
        model.observed.deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    assert_eq!(
        model.progressing(),
        (
            "NewReplicaSetAvailable".into(),
            format!("ReplicaSet \"web-{hash}\" has successfully progressed.")
        )
    );
    assert_eq!(
        model.events,
        [format!("Scaled up replica set web-{hash} from 0 to 3")]
    );
    let again = plan(&model.observed, model.now);
    assert_eq!(again, Plan::default());
}

#[test]
fn a_rollout_that_fails_keeps_the_old_pods_and_times_out() {
    let mut model = Model::new(deployment(4, json!(1), json!(1), "a"));
    model.settle(|_| true);
    model.set_image("bad");
    model.settle(|image| image != "bad");
    assert_eq!(
        model.sizes(),
        BTreeMap::from([("a".into(), 3), ("bad".into(), 2)])
    );
    assert_eq!(model.progressing().0, "ReplicaSetUpdated");
    let waiting = plan(&model.observed, model.now);
    assert_eq!(waiting.after, Some(std::time::Duration::from_secs(600)));
    model.now += jiff::SignedDuration::from_secs(600);
    model.settle(|image| image != "bad");
    assert_eq!(model.progressing().0, "ProgressDeadlineExceeded");
    assert!(model.progressing().1.ends_with("has timed out progressing."));
    assert_eq!(
        plan(&model.observed, model.now),
        Plan::default(),
        "it has been said"
    );

    model.set_image("a");
    model.settle(|_| true);
    assert_eq!(
        model.sizes(),
        BTreeMap::from([("a".into(), 4), ("bad".into(), 0)])
    );
    let set = model
        .observed
        .sets
        .iter()
        .find(|set| set["spec"]["replicas"] == 4)
        .unwrap();
    assert_eq!(
        set["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "3"
    );
    assert_eq!(
        set["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"],
        "1"
    );
    assert_eq!(model.progressing().0, "NewReplicaSetAvailable");
}

#[test]
fn recreate_waits_for_the_old_pods_to_go() {
    let mut model = Model::new(deployment(2, json!(0), json!(0), "a"));
    model.observed.deployment["spec"]["strategy"] = json!({"type": "Recreate"});
    model.settle(|_| true);
    model.set_image("b");
    let uid = model.observed.sets[0]["metadata"]["uid"]
        .as_str()
        .unwrap()
        .to_owned();
    model.observed.living_pods = vec![(uid, 1)];
    model.settle(|_| true);
    assert_eq!(model.sizes(), BTreeMap::from([("a".into(), 0)]));
    model.observed.living_pods.clear();
    model.settle(|_| true);
    assert_eq!(model.sizes(), BTreeMap::from([("a".into(), 0), ("b".into(), 2)]));
}

#[test]
fn a_paused_deployment_scales_but_does_not_roll() {
    let mut model = Model::new(deployment(2, json!(1), json!(0), "a"));
    model.settle(|_| true);
    model.observed.deployment["spec"]["paused"] = json!(true);
    model.set_image("b");
    model.observed.deployment["spec"]["replicas"] = json!(5);
    model.settle(|_| true);
    assert_eq!(model.sizes(), BTreeMap::from([("a".into(), 5)]));
    assert_eq!(
        model.progressing(),
        ("DeploymentPaused".into(), "Deployment is paused".into())
    );
    model.observed.deployment["spec"]["paused"] = json!(false);
    model.settle(|_| true);
    assert_eq!(model.sizes(), BTreeMap::from([("a".into(), 0), ("b".into(), 5)]));
    assert_eq!(model.progressing().0, "NewReplicaSetAvailable");
}

#[test]
fn old_replica_sets_go_beyond_the_limit() {
    let mut model = Model::new(deployment(1, json!(1), json!(0), "a"));
    model.observed.deployment["spec"]["revisionHistoryLimit"] = json!(1);
    for image in ["b", "c", "d"] {
        model.settle(|_| true);
        model.set_image(image);
    }
    model.settle(|_| true);
    assert_eq!(model.sizes(), BTreeMap::from([("c".into(), 0), ("d".into(), 1)]));
}

#[test]
fn scaling_in_the_middle_of_a_rollout_is_shared() {
    let mut model = Model::new(deployment(10, json!(3), json!(2), "a"));
    model.settle(|_| true);
    model.set_image("bad");
    model.settle(|image| image == "a");
    assert_eq!(
        model.sizes(),
        BTreeMap::from([("a".into(), 8), ("bad".into(), 5)])
    );
    model.observed.deployment["spec"]["replicas"] = json!(15);
    model.step();
    // The example of upstream's documentation.
    assert_eq!(
        model.sizes(),
        BTreeMap::from([("a".into(), 11), ("bad".into(), 7)])
    );
}

proptest! {
    #[test]
    fn a_rolling_update_keeps_to_its_limits_and_ends(
        replicas in 1_i64..12, surge in 0_i64..4, unavailable in 0_i64..4, pace in 1_i64..4, rollover in 0_usize..12,
    ) {
        let mut model = Model::new(deployment(replicas, json!(surge), json!(unavailable), "a"));
        model.settle(|_| true);
        let limits = Limits::of(&model.observed.deployment);
        model.set_image("b");
        for turn in 0..400 {
            if turn == rollover {
                model.set_image("c");
            }
            let writes = model.step();
            let total: i64 = model.sizes().values().sum();
            prop_assert!(total <= limits.most(), "{total} > {}", limits.most());
            // Scaled-down pods disappear at once, so availability follows the sizes.
            model.pods(0, |_| true);
            let available: i64 = model.observed.sets.iter().map(|set| set["status"]["availableReplicas"].as_i64().unwrap()).sum();
            prop_assert!(available >= limits.fewest_available(), "{available} < {}", limits.fewest_available());
            model.pods(pace, |_| true);
            if writes == 0 && turn > rollover && model.step() == 0 {
                break;
            }
        }
        prop_assert_eq!(model.sizes().get("c").copied(), Some(replicas));
        prop_assert_eq!(model.progressing().0, "NewReplicaSetAvailable");
    }
}
