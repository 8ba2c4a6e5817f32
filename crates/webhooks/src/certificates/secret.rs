//! The Secret with the certificate authorities, shared by all replicas.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::authority::{Authority, AuthorityCertificate, CertificateError};
use super::facts::{Facts, Fingerprint, Lifetimes};
use super::plan::{AuthorityFacts, NextFacts, SecretFacts, SecretStep};
use crate::names;

/// The contents of the Secret.
///
/// | what is found | what is done |
/// |---|---|
/// | no Secret | it is made; of two replicas that make one, the second takes the first's |
/// | a Secret without our label | it is neither believed nor touched; the start fails and says so |
/// | no certificate, no key, the key of another certificate, not an authority, not one of ours | replaced; certificates that can be read stay in the bundles until they expire |
/// | an authority that has expired | replaced, or the next one promoted |
/// | an authority from the future | nothing: a clock is wrong |
/// | a next authority that cannot be read | as if there were none: another is made |
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// It is not there.
    Absent,
    /// Not created by Cambium.
    Foreign,
    /// Created by Cambium, and unusable.
    Damaged {
        /// In words, without anything of its content.
        why: String,
        /// Certificates that can be read.
        readable: Vec<AuthorityCertificate>,
    },
    /// Usable.
    Whole(Box<Authorities>),
}

/// The authorities of all replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorities {
    /// The one that signs.
    pub current: Authority,
    /// The one that will.
    pub next: Option<Next>,
    /// Those that did. Their keys are gone.
    pub previous: Vec<AuthorityCertificate>,
}

/// The authority that comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// With its key.
    pub authority: Authority,
    /// Since when every bundle has been known to carry it.
    pub published: Option<Timestamp>,
}

const CURRENT: (&str, &str) = ("ca.crt", "ca.key");
const NEXT: (&str, &str) = ("next.crt", "next.key");
const PUBLISHED: &str = "next.published";
const PREVIOUS: &str = "previous.crt";

impl Stored {
    /// Reads a Secret, and believes nothing that does not hold together.
    pub fn read(secret: Option<&Secret>) -> Self {
        let Some(secret) = secret else {
            return Self::Absent;
        };
        let labels = secret.metadata.labels.as_ref();
        if labels
            .and_then(|labels| labels.get(names::MANAGED_BY))
            .map(String::as_str)
            != Some(names::CAMBIUM)
        {
            return Self::Foreign;
        }
        let none = BTreeMap::new();
        let data = secret.data.as_ref().unwrap_or(&none);
        let text = |key: &str| data.get(key).and_then(|bytes| std::str::from_utf8(&bytes.0).ok());
        let authority = |(certificate, key)| {
            let (certificate, key) = (
                text(certificate).unwrap_or_default(),
                text(key).unwrap_or_default(),
            );
            Authority::parse(certificate, key)
        };
        let previous = certificates(text(PREVIOUS).unwrap_or_default());
        match authority(CURRENT) {
            Ok(current) => Self::Whole(Box::new(Authorities {
                current,
                next: authority(NEXT).ok().map(|authority| Next {
                    authority,
                    published: text(PUBLISHED).and_then(|at| at.parse().ok()),
                }),
                previous,
            })),
            Err(error) => {
                let mut readable = previous;
                for key in [CURRENT.0, NEXT.0] {
                    readable.extend(AuthorityCertificate::parse(text(key).unwrap_or_default()));
                }
                let why = format!("its certificate authority is damaged: {error}");
                Self::Damaged { why, readable }
            }
        }
    }

    /// Its state, as the plan of rotation sees it.
    pub fn facts(&self) -> SecretFacts {
        let facts =
            |all: &[AuthorityCertificate]| all.iter().map(|one| one.facts().clone()).collect::<Vec<Facts>>();
        match self {
            Self::Absent => SecretFacts::Absent,
            Self::Foreign => SecretFacts::Foreign,
            Self::Damaged { why, readable } => SecretFacts::Damaged {
                why: why.clone(),
                readable: facts(readable),
            },
            Self::Whole(authorities) => SecretFacts::Whole(AuthorityFacts {
                current: authorities.current.certificate().facts().clone(),
                next: authorities.next.as_ref().map(|next| NextFacts {
                    facts: next.authority.certificate().facts().clone(),
                    published: next.published,
                }),
                previous: facts(&authorities.previous),
            }),
        }
    }

    /// Its contents after a step. `None` if it is not to be written.
    pub fn after(
        &self,
        step: &SecretStep,
        lifetimes: &Lifetimes,
        now: Timestamp,
    ) -> Result<Option<Authorities>, CertificateError> {
        let new = || Authority::generate(now, lifetimes.authority);
        let whole = match self {
            Self::Whole(authorities) => Some(Authorities::clone(authorities)),
            _ => None,
        };
        Ok(match step {
            SecretStep::Keep | SecretStep::LookAgain | SecretStep::Refuse { .. } => None,
            SecretStep::Create => Some(Authorities::only(new()?)),
            SecretStep::Replace { keep, .. } => {
                let kept = self.certificates().into_iter();
                let kept = kept.filter(|one| keep.contains(&one.facts().id)).cloned();
                Some(Authorities {
                    previous: kept.collect(),
                    ..Authorities::only(new()?)
                })
            }
            SecretStep::AddNext => {
                let next = new()?;
                whole.map(|whole| whole.followed_by(next))
            }
            SecretStep::RecordPublished => whole.map(|whole| whole.published(Some(now))),
            SecretStep::ForgetPublished => whole.map(|whole| whole.published(None)),
            SecretStep::Promote => whole.map(Authorities::promoted),
            SecretStep::Forget { expired } => whole.map(|whole| whole.without(expired)),
        })
    }

    /// All certificates that can be read.
    pub fn certificates(&self) -> Vec<&AuthorityCertificate> {
        match self {
            Self::Absent | Self::Foreign => Vec::new(),
            Self::Damaged { readable, .. } => readable.iter().collect(),
            Self::Whole(authorities) => {
                let next = authorities.next.iter().map(|next| next.authority.certificate());
                let current = std::iter::once(authorities.current.certificate());
                current.chain(next).chain(&authorities.previous).collect()
            }
        }
    }
}

impl Authorities {
    /// One authority, and nothing before or after it.
    pub fn only(current: Authority) -> Self {
        Self {
            current,
            next: None,
            previous: Vec::new(),
        }
    }

    fn followed_by(mut self, authority: Authority) -> Self {
        self.next = Some(Next {
            authority,
            published: None,
        });
        self
    }

    fn published(mut self, at: Option<Timestamp>) -> Self {
        if let Some(next) = &mut self.next {
            next.published = at;
        }
        self
    }

    /// The next becomes the current one; the current one's key is forgotten.
    fn promoted(mut self) -> Self {
        if let Some(next) = self.next.take() {
            let old = std::mem::replace(&mut self.current, next.authority);
            self.previous.push(old.certificate().clone());
        }
        self
    }

    fn without(mut self, expired: &[Fingerprint]) -> Self {
        let is_expired = |certificate: &AuthorityCertificate| expired.contains(&certificate.facts().id);
        self.previous.retain(|certificate| !is_expired(certificate));
        self.next = self.next.filter(|next| !is_expired(next.authority.certificate()));
        self
    }

    /// As the Secret holds it.
    pub fn data(&self) -> BTreeMap<String, ByteString> {
        let mut data = BTreeMap::new();
        let mut put = |key: &str, text: &str| {
            data.insert(key.to_owned(), ByteString(text.as_bytes().to_vec()));
        };
        let mut authority = |(certificate, key): (&str, &str), authority: &Authority| {
            put(certificate, authority.certificate().pem());
            put(key, authority.key().expose());
        };
        authority(CURRENT, &self.current);
        if let Some(next) = &self.next {
            authority(NEXT, &next.authority);
        }
        if let Some(at) = self.next.as_ref().and_then(|next| next.published) {
            put(PUBLISHED, &at.to_string());
        }
        if !self.previous.is_empty() {
            let all: Vec<&str> = self.previous.iter().map(AuthorityCertificate::pem).collect();
            put(PREVIOUS, &all.concat());
        }
        data
    }
}

/// The certificates of a text that may hold several.
fn certificates(text: &str) -> Vec<AuthorityCertificate> {
    const END: &str = "-----END CERTIFICATE-----";
    let parts = text.split_inclusive(END).filter(|part| part.contains(END));
    let mut seen = BTreeSet::new();
    parts
        .filter_map(|part| AuthorityCertificate::parse(&format!("{}\n", part.trim())).ok())
        .filter(|certificate| seen.insert(certificate.facts().id.clone()))
        .collect()
}
