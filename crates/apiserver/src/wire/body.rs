//! Response bodies: bytes, a list of stored objects, or a stream.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use futures::Stream;
use http_body::{Frame, SizeHint};

use crate::store::Entry;

/// The body of a response.
pub struct Body(Content);

pub(super) enum Content {
    Full(Option<Bytes>),
    Chunks(Chunks),
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

/// A list of stored objects, assembled while it is sent, without a second copy.
pub(crate) struct Chunks {
    head: Bytes,
    entries: VecDeque<Arc<Entry>>,
    /// Bytes to skip after the first brace of each item: `apiVersion` and `kind`, which built-in lists omit.
    left_out: usize,
    started: bool,
    tail: Option<Bytes>,
}

impl Chunks {
    /// Bytes per frame: large enough for few system calls and full TLS records.
    const FRAME: usize = 64 << 10;

    pub(crate) fn new(head: Vec<u8>, entries: Vec<Arc<Entry>>, left_out: usize, tail: &'static [u8]) -> Self {
        Self {
            head: head.into(),
            entries: entries.into(),
            left_out,
            started: false,
            tail: Some(Bytes::from_static(tail)),
        }
    }

    fn len(&self) -> usize {
        let commas = self.entries.len().saturating_sub(1);
        let tail = self.tail.as_ref().map_or(0, Bytes::len);
        let lengths = self.entries.iter().map(|entry| entry.json.len() - self.left_out);
        self.head.len() + lengths.sum::<usize>() + commas + tail
    }
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let tail = self.tail.as_ref()?;
        let mut frame = BytesMut::with_capacity(Self::FRAME + (8 << 10));
        if !self.started {
            frame.put(std::mem::take(&mut self.head));
        }
        while frame.len() < Self::FRAME {
            let Some(entry) = self.entries.pop_front() else {
                break;
            };
            if self.started {
                frame.put_u8(b',');
            }
            self.started = true;
            frame.put_u8(b'{');
            frame.put_slice(&entry.json[1 + self.left_out..]);
        }
        if self.entries.is_empty() {
            frame.put_slice(tail);
            self.tail = None;
        }
        Some(frame.freeze())
    }
}

impl Body {
    /// An empty body.
    pub fn empty() -> Self {
        Self(Content::Full(None))
    }

    /// A body of these bytes.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Content::Full(Some(bytes.into())))
    }

    pub(crate) fn chunks(chunks: Chunks) -> Self {
        Self(Content::Chunks(chunks))
    }

    pub(super) fn into_content(self) -> Content {
        self.0
    }

    pub(super) fn from_content(content: Content) -> Self {
        Self(content)
    }

    pub(crate) fn stream(stream: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Content::Stream(Box::pin(stream)))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = match &mut self.get_mut().0 {
            Content::Full(bytes) => bytes.take(),
            Content::Chunks(chunks) => chunks.next(),
            Content::Stream(stream) => match stream.as_mut().poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(bytes) => bytes,
            },
        };
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Content::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Content::Chunks(chunks) => SizeHint::with_exact(chunks.len() as u64),
            Content::Stream(_) => SizeHint::default(),
        }
    }
}
