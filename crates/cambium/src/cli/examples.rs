//! The three examples of each command's help. A test parses each of them.

pub(super) const CAMBIUM: &str = "\
Examples:
  cambium up --demo                             # no cluster needed
  cambium outdated --all-namespaces             # who is behind, and why
  cambium upgrade shop front=1.2.5 --dry-run    # show the plan of an upgrade";

pub(super) const UP: &str = "\
Examples:
  cambium up                                    # keeps its data
  cambium up --demo --ephemeral                 # an example, in memory
  cambium up --clusters 2 --listen 127.0.0.1:7443";

pub(super) const MANAGER: &str = "\
Examples:
  cambium manager --print-rbac > rbac.yaml      # the ClusterRoles that it needs
  cambium manager --webhook-service cambium     # in a cluster
  cambium manager --no-webhooks --default-service-account deployer";

pub(super) const HISTORY: &str = "\
Examples:
  cambium history compdef web -n vela-system    # a ComponentDefinition
  cambium history shop                          # the only thing called shop
  cambium history composition/databases -o wide # with the names of users";

pub(super) const RESOLVE: &str = "\
Examples:
  cambium resolve shop                          # what each reference gets
  cambium resolve shop --explain                # and why not another
  cambium resolve -f shop.yaml -o json          # as if the file were applied";

pub(super) const DIFF: &str = "\
Examples:
  cambium diff web@1.2.3 web@1.3.0              # two versions of a definition
  cambium diff web@1 web@2 --kind component     # the highest of two series
  cambium diff comprev/databases-c0103c0 comprev/databases-4129872";

pub(super) const UPGRADE: &str = "\
Examples:
  cambium upgrade shop --dry-run                # all references: the plan
  cambium upgrade shop front=1.2.5              # one component
  cambium upgrade shop front=1.2.5 back=2.0.0 -n team-a";

pub(super) const ROLLBACK: &str = "\
Examples:
  cambium rollback shop                         # to the revision before
  cambium rollback shop --to 3 --dry-run        # show the plan
  cambium rollback shop --to shop-v3 -n team-a";

pub(super) const PIN: &str = "\
Examples:
  cambium pin xdatabase/orders                  # to the one in use
  cambium pin xdatabase orders --to 2           # to a number
  cambium pin orders --to databases-c0103c0 --dry-run";

pub(super) const FOLLOW: &str = "\
Examples:
  cambium follow xdatabase/orders               # Automatic
  cambium follow xdatabase orders --dry-run     # which revision?
  cambium follow database/orders -n team-a -o yaml";

pub(super) const OUTDATED: &str = "\
Examples:
  cambium outdated                              # in this namespace
  cambium outdated --all-namespaces             # everywhere
  cambium outdated -A -o json | jq '.[].newest'";

pub(super) const GC: &str = "\
Examples:
  cambium gc --dry-run                          # the manager's plan
  cambium gc --dry-run -n team-a -o yaml        # revisions of one namespace
  cambium gc --dry-run --definition-revision-limit 5";

pub(super) const VERIFY: &str = "\
Examples:
  cambium verify --context staging --context prod
  cambium verify --context staging --context prod --allow-missing
  cambium verify --context staging --context prod --all -o json";

pub(super) const LOCK: &str = "\
Examples:
  cambium lock shop.yaml                        # write the lock into the file
  cambium lock shop.yaml --dry-run              # print the result
  cambium lock - -n team-a                      # from standard input";

pub(super) const COMPLETION: &str = "\
Examples:
  cambium completion bash > /etc/bash_completion.d/cambium
  cambium completion zsh > ~/.zfunc/_cambium
  cambium completion fish > ~/.config/fish/completions/cambium.fish";

pub(super) const CUE: &str = "\
Examples:
  cambium cue eval page.cue
  cambium cue eval page.cue -e output.spec -o yaml
  cambium cue schema page.cue";

pub(super) const CUE_EVAL: &str = "\
Examples:
  cambium cue eval page.cue                     # the value of a file
  cambium cue eval page.cue -e output.spec -o yaml
  cambium cue eval -                            # from standard input";

pub(super) const CUE_SCHEMA: &str = "\
Examples:
  cambium cue schema page.cue                   # of the parameter
  cambium cue schema page.cue -o yaml
  cambium cue schema -                          # from standard input";

pub(super) const COMPOSE: &str = "\
Examples:
  cambium compose -f xr.yaml -c composition.yaml
  cambium compose -f xr.yaml -c composition.yaml -x definition.yaml
  cambium compose -f - -c composition.yaml --observed live.yaml -o json";

pub(super) const RENDER: &str = "\
Examples:
  cambium render -f shop.yaml -d definitions/
  cambium render -f shop.yaml -d web.yaml -d cache.yaml -o json
  cambium render -f - -d definitions/ --cluster-version 1.31";

pub(super) const CHECK: &str = "\
Examples:
  cambium check old.yaml new.yaml               # whom does the change break?
  cambium check released/ config/crd/ -o json   # all CRDs of two directories
  cambium check old.yaml - --witness witnesses  # an object for each break";

pub(super) const EXPLAIN: &str = "\
Examples:
  cambium explain                               # list all rules
  cambium explain R03                           # a field is required now
  cambium explain R09                           # a field was renamed";
