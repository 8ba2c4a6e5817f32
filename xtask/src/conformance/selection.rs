//! Selects the specs: all of `[sig-api-machinery]`, and the `[Conformance]` specs of other SIGs, except those that need
//! more than a control plane without nodes.
//!
//! [`RULES`] is the only place that excludes specs, by their requirements (from their source), never by their results.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Result, bail};
use regex::Regex;

use super::suite::Spec;
use Reason::{Containers, Disruptive, Flaky, Image, Network, Node, OffByDefault, Scheduler};

/// A missing requirement of a spec.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    Containers,
    Image,
    Scheduler,
    Node,
    Network,
    Disruptive,
    OffByDefault,
    Flaky,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Containers => "needs pods to run: it waits for containers to start, to end, or to say something",
            Image => "needs a server that runs as an image in a pod: a webhook or an aggregated API server",
            Scheduler => "needs a scheduler",
            Node => "needs nodes",
            Network => "needs a cluster network, and pods to talk through it",
            Disruptive => "stops parts of the control plane from outside",
            Flaky => "is marked as flaky: upstream does not run it either",
            OffByDefault => "is about a feature that Kubernetes has switched off",
        })
    }
}

/// Excludes specs.
struct Rule {
    reason: Reason,
    which: Which,
}

enum Which {
    /// Specs with this label.
    Label(&'static str),
    /// Specs of these files under `test/e2e`, or of directories, with a trailing slash.
    Files(&'static [&'static str]),
    /// Specs of a file or directory, except those with these words in their names.
    FilesBut(&'static str, &'static [&'static str]),
    /// Specs of a file with one of these words in their names.
    Named(&'static str, &'static [&'static str]),
}

/// The exclusion rules; the first match gives the reason.
const RULES: &[Rule] = &[
    rule(OffByDefault, Which::Label("Feature:OffByDefault")),
    rule(OffByDefault, Which::Label("Feature:StorageVersionAPI")),
    rule(Disruptive, Which::Label("Disruptive")),
    rule(Flaky, Which::Label("Flaky")),
    // API machinery
    rule(
        Image,
        Which::Files(&[
            "apimachinery/aggregator.go",
            "apimachinery/crd_conversion_webhook.go",
            "apimachinery/crd_selectable_fields.go",
            "apimachinery/webhook.go",
        ]),
    ),
    rule(
        Image,
        Which::Named("apimachinery/openapiv3.go", &["Aggregated APIServer"]),
    ),
    rule(
        Image,
        Which::Named("apimachinery/protocol.go", &["sample-apiserver"]),
    ),
    rule(
        Containers,
        Which::Named(
            "apimachinery/namespace.go",
            &["all pods are removed", "should delete pod first"],
        ),
    ),
    rule(
        Containers,
        Which::Named("apimachinery/generated_clientset.go", &["should create pods"]),
    ),
    // Workloads
    rule(
        Containers,
        Which::Files(&[
            "apps/daemon_set.go",
            "apps/deployment.go",
            "apps/job.go",
            "apps/statefulset.go",
            "apps/replica_set.go",
        ]),
    ),
    rule(
        Node,
        Which::Files(&["apps/controller_revision.go", "architecture/"]),
    ),
    rule(Containers, Which::FilesBut("apps/rc.go", &["exceeded quota"])),
    rule(
        Containers,
        Which::Named(
            "apps/disruption.go",
            &[
                "status updated",
                "update/patch PodDisruptionBudget status",
                "block an eviction",
            ],
        ),
    ),
    // Authentication
    rule(
        Containers,
        Which::Named(
            "auth/service_accounts.go",
            &[
                "mount an API token",
                "mount projected service account token",
                "OIDC discovery",
            ],
        ),
    ),
    // What containers see of the API
    rule(Network, Which::Files(&["common/network/"])),
    rule(
        Containers,
        Which::FilesBut(
            "common/",
            &[
                "with empty key",
                "due to empty secret key",
                "should update ConfigMap successfully",
                "should run through a ConfigMap lifecycle",
                "lease API should be available",
                "PodTemplates",
                "RuntimeClasses API operations",
                "should reject a Pod requesting a non-existent RuntimeClass",
                "should reject a Pod requesting a deleted RuntimeClass",
                "should patch a secret",
                "`immutable` field is set",
            ],
        ),
    ),
    rule(
        Containers,
        Which::FilesBut("node/", &["Node Lifecycle", "QOS Class should be set"]),
    ),
    // Command line
    rule(
        Containers,
        Which::FilesBut(
            "kubectl/",
            &[
                "api-versions",
                "kubectl diff",
                "cluster-info",
                "data is printed",
                "Proxy server",
            ],
        ),
    ),
    // Networking
    rule(
        Network,
        Which::Files(&[
            "network/dns.go",
            "network/hostport.go",
            "network/proxy.go",
            "network/service_latency.go",
        ]),
    ),
    rule(
        Network,
        Which::FilesBut(
            "network/service.go",
            &[
                "listing all namespaces",
                "service status lifecycle",
                "delete a collection of services",
            ],
        ),
    ),
    rule(
        Containers,
        Which::Named(
            "network/endpoint",
            &[
                "for Pods matching a Service",
                "multiple ports specified in multiple EndpointSlices",
                "multiple endpoint IPs specified in multiple EndpointSlices",
            ],
        ),
    ),
    // Scheduling
    rule(Scheduler, Which::FilesBut("scheduling/", &["LimitRange"])),
    // Storage
    rule(
        Containers,
        Which::Files(&["storage/empty_dir_wrapper.go", "storage/subpath.go"]),
    ),
];

const fn rule(reason: Reason, which: Which) -> Rule {
    Rule { reason, which }
}

impl Which {
    fn speaks_of(&self, spec: &Spec) -> bool {
        let named = |words: &[&str]| words.iter().any(|words| spec.name.contains(words));
        match self {
            Self::Label(label) => spec.has(label),
            Self::Files(files) => files.iter().any(|file| spec.file.starts_with(file)),
            Self::FilesBut(file, words) => spec.file.starts_with(file) && !named(words),
            Self::Named(file, words) => spec.file.starts_with(file) && named(words),
        }
    }
}

/// The index of the rule that excludes a spec.
fn rule_of(spec: &Spec) -> Option<usize> {
    RULES.iter().position(|rule| rule.which.speaks_of(spec))
}

/// Selected and excluded specs.
pub(super) struct Selection {
    /// By name.
    pub(super) taken: Vec<Spec>,
    /// By reason, then by name.
    pub(super) left_out: BTreeMap<Reason, Vec<String>>,
}

impl Selection {
    /// Applies the rules. A rule without matches is an error: upstream has changed.
    pub(super) fn of(specs: Vec<Spec>) -> Result<Self> {
        let mut selection = Self {
            taken: Vec::new(),
            left_out: BTreeMap::new(),
        };
        let mut used = vec![false; RULES.len()];
        for spec in specs {
            if !spec.name.starts_with("[sig-api-machinery]") && !spec.has("Conformance") {
                continue;
            }
            match rule_of(&spec) {
                Some(index) => {
                    used[index] = true;
                    let left_out = selection.left_out.entry(RULES[index].reason).or_default();
                    left_out.push(spec.name);
                }
                None => selection.taken.push(spec),
            }
        }
        if let Some(index) = used.iter().position(|used| !used) {
            bail!("rule {index} of the selection matches no spec");
        }
        selection.taken.sort_by(|left, right| left.name.cmp(&right.name));
        for names in selection.left_out.values_mut() {
            names.sort();
        }
        Ok(selection)
    }

    /// Keeps only specs whose name matches.
    pub(super) fn focus(&mut self, focus: &Regex) {
        self.taken.retain(|spec| focus.is_match(&spec.name));
        for names in self.left_out.values_mut() {
            names.retain(|name| focus.is_match(name));
        }
        self.left_out.retain(|_, names| !names.is_empty());
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} specs run:", self.taken.len())?;
        for spec in &self.taken {
            writeln!(formatter, "  {}", spec.name)?;
        }
        for (reason, names) in &self.left_out {
            writeln!(formatter, "\n{} left out: it {reason}:", names.len())?;
            for name in names {
                writeln!(formatter, "  {name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(file: &str, name: &str, labels: &[&str]) -> Spec {
        Spec {
            name: name.to_owned(),
            file: file.to_owned(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        }
    }

    #[test]
    fn the_first_rule_that_speaks_of_a_spec_gives_the_reason() {
        let reason =
            |file, name, labels: &[&str]| rule_of(&spec(file, name, labels)).map(|rule| RULES[rule].reason);
        assert!(reason("apimachinery/watch.go", "Watchers should observe", &[]).is_none());
        assert!(reason("apimachinery/webhook.go", "AdmissionWebhook", &[]) == Some(Image));
        assert!(reason("apimachinery/webhook.go", "AdmissionWebhook", &["Disruptive"]) == Some(Disruptive));
        assert!(reason("common/node/pods.go", "Pods should run", &[]) == Some(Containers));
        assert!(reason("common/node/lease.go", "Lease lease API should be available", &[]).is_none());
    }

    #[test]
    fn a_rule_that_speaks_of_nothing_is_an_error() {
        let only = spec("apimachinery/watch.go", "[sig-api-machinery] Watchers", &[]);
        let error = Selection::of(vec![only]).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("matches no spec")));
    }
}
