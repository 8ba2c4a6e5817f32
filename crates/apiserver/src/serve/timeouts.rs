//! Connection timeouts: for the first bytes of a client, and for stalled writes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A stream with timeouts.
pub(super) struct TimeoutStream<S> {
    stream: S,
    /// Bytes still missing from the client's greeting, and the deadline.
    greeting: Option<(usize, Pin<Box<Sleep>>)>,
    stalled: Duration,
    /// Runs while the client reads nothing.
    stall: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    /// `hello` bytes must arrive within `greeting`; a write must make progress within `stalled`.
    pub(super) fn new(stream: S, hello: usize, greeting: Duration, stalled: Duration) -> Self {
        Self {
            stream,
            greeting: Some((hello, Box::pin(sleep(greeting)))),
            stalled,
            stall: None,
        }
    }

    /// Starts, checks or clears the write timeout.
    fn progress<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stall = None;
            return written;
        }
        let stalled = self.stalled;
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(stalled)));
        ready!(stall.as_mut().poll(context));
        // Further polls fail at once, too.
        stall.as_mut().reset(Instant::now());
        Poll::Ready(Err(late("the client takes nothing")))
    }
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, what)
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some((missing, deadline)) = &mut self.greeting else {
            return read;
        };
        *missing = missing.saturating_sub(buffer.filled().len() - before);
        if *missing == 0 {
            self.greeting = None;
            return read;
        }
        match (read, deadline.as_mut().poll(context)) {
            (Poll::Pending, Poll::Ready(())) => Poll::Ready(Err(late("the client says nothing"))),
            (read, _) => read,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.progress(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.progress(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.progress(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(context);
        self.progress(context, closed)
    }
}
