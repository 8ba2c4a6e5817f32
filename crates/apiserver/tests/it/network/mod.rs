//! Misbehaving clients over real TLS sockets do not keep the server from serving others.

mod site;

use std::time::Duration;

use bytes::Bytes;
use cambium_apiserver::serve::Timeouts;
use cambium_apiserver::store::History;
use cambium_apiserver::{ApiServer, Tokens, User};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use site::{Protocol, Site, eventually, parse};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A timeout short enough for a test.
const SHORT: Duration = Duration::from_millis(200);

fn impatient() -> Timeouts {
    Timeouts {
        handshake: SHORT,
        idle: SHORT,
        write: SHORT,
        shutdown: SHORT,
    }
}

#[tokio::test]
async fn a_client_that_never_speaks_is_left() {
    let site = Site::with(ApiServer::builder(), impatient()).await;
    let mut mute = site.tcp().await;
    assert_eq!(
        mute.read(&mut [0; 16]).await.unwrap_or(0),
        0,
        "closed, without a word"
    );
    let mut gibberish = site.tcp().await;
    gibberish
        .write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = gibberish.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "no HTTP without TLS");
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut shy = site.tls(protocol, Some(&site.admin)).await.unwrap();
        let mut heard = Vec::new();
        let _ = shy.read_to_end(&mut heard).await;
        assert!(!heard.starts_with(b"HTTP"), "nothing was asked");
    }
    site.still_answers().await;
}

#[tokio::test]
async fn half_a_head_is_not_waited_for() {
    let site = Site::with(ApiServer::builder(), impatient()).await;
    let mut client = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    client
        .write_all(b"GET /version HTTP/1.1\r\nhost: ")
        .await
        .unwrap();
    let mut heard = Vec::new();
    let _ = client.read_to_end(&mut heard).await;
    assert!(
        heard.is_empty() || heard.starts_with(b"HTTP/1.1 408"),
        "{}",
        String::from_utf8_lossy(&heard)
    );
    let mut client = site.tls(Protocol::Http2, Some(&site.admin)).await.unwrap();
    client.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    let _ = client.read_to_end(&mut heard).await;
    site.still_answers().await;
}

#[tokio::test]
async fn a_body_that_trickles_for_ever_is_answered_with_a_timeout() {
    let site = Site::with(ApiServer::builder().body_timeout(SHORT), Timeouts::default()).await;
    let client = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    let (mut read, mut write) = tokio::io::split(client);
    let head = "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
    write.write_all(head.as_bytes()).await.unwrap();
    let trickle = async {
        while write.write_all(b" ").await.is_ok() && write.flush().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let mut heard = Vec::new();
    tokio::select! {
        _ = read.read_to_end(&mut heard) => {}
        () = trickle => drop(read.read_to_end(&mut heard).await),
    }
    let (code, body) = parse(&heard);
    assert_eq!((code, &body["reason"]), (504, &json!("Timeout")), "{body}");
    site.still_answers().await;
}

#[tokio::test]
async fn a_thousand_idle_watches_hear_of_the_next_event_and_are_forgotten_when_clients_vanish() {
    let site = Site::new().await;
    // As many connections as file descriptors surely allow, a hundred watches on each.
    let mut connections = Vec::new();
    let mut watches = Vec::new();
    for _ in 0..10 {
        let mut sender = site.http2(Some(&site.admin)).await;
        for _ in 0..100 {
            let request = site
                .get("/api/v1/namespaces/default/configmaps?watch=true&fieldSelector=metadata.name%3Dnews");
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.status(), 200);
            watches.push(response.into_body());
        }
        connections.push(sender);
    }
    assert_eq!(site.server.open_watches(), 1000);
    site.create("news").await;
    for watch in &mut watches {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        let event: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&json!("ADDED"), &json!("news"))
        );
    }
    drop(watches);
    drop(connections);
    eventually("all watches are forgotten", || site.server.open_watches() == 0).await;
}

#[tokio::test]
async fn watches_of_http1_clients_that_vanish_are_forgotten() {
    let site = Site::new().await;
    let mut clients = Vec::new();
    for _ in 0..50 {
        let mut client = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
        client
            .write_all(b"GET /api/v1/configmaps?watch=true&resourceVersion=1 HTTP/1.1\r\nhost: x\r\n\r\n")
            .await
            .unwrap();
        clients.push(client);
    }
    eventually("all watches are open", || site.server.open_watches() == 50).await;
    drop(clients);
    eventually("all watches are forgotten", || site.server.open_watches() == 0).await;
}

#[tokio::test]
async fn a_watch_that_is_never_read_is_ended_and_delays_nobody() {
    let history = History {
        events: 50,
        bytes: 1 << 20,
    };
    let patience = Timeouts {
        write: SHORT,
        ..Timeouts::default()
    };
    let site = Site::with(ApiServer::builder().history(history), patience).await;
    let mut deaf = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    deaf.write_all(b"GET /api/v1/configmaps?watch=true HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    eventually("the watch is open", || site.server.open_watches() == 1).await;
    let mut sender = site.http2(Some(&site.admin)).await;
    let request = site.get("/api/v1/configmaps?watch=true&fieldSelector=metadata.namespace%3Ddefault");
    let mut hearing = sender.send_request(request).await.unwrap().into_body();
    site.create("loud").await;
    let mut heard = String::new();
    let mut count = 0;
    let padding = "x".repeat(100_000);
    for number in 0..150 {
        site.annotate("loud", &format!("{number}-{padding}")).await;
        // Whoever reads hears of every event as it happens.
        while !heard.contains(&format!("\"{number}-")) {
            let frame = hearing.frame().await.unwrap().unwrap().into_data().unwrap();
            heard = [
                heard.get(heard.len().saturating_sub(1000)..).unwrap_or_default(),
                &String::from_utf8_lossy(&frame),
            ]
            .concat();
        }
        count += 1;
    }
    assert_eq!(count, 150);
    eventually("the deaf one is gone", || site.server.open_watches() == 1).await;
    drop(deaf);
    site.still_answers().await;
}

#[tokio::test]
async fn certificates_decide_who_may_come_in() {
    let site = Site::new().await;
    let now = jiff::Timestamp::now();
    let foreign = cambium_apiserver::pki::Authority::generate(now).unwrap();
    let foreign = foreign
        .client("root", &[cambium_apiserver::MASTERS], now)
        .unwrap();
    let long_ago = now - jiff::SignedDuration::from_hours(24 * 365 * 20);
    let expired = site
        .authority
        .client("root", &[cambium_apiserver::MASTERS], long_ago)
        .unwrap();
    for identity in [&foreign, &expired] {
        for protocol in [Protocol::Http1, Protocol::Http2] {
            assert_eq!(
                site.ask(protocol, Some(identity), &[], "/api/v1/pods").await,
                None,
                "refused at the door"
            );
        }
    }
    let ada = site.authority.client("ada", &["developers"], now).unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let (code, status) = site.ask(protocol, Some(&ada), &[], "/api/v1/pods").await.unwrap();
        assert_eq!(code, 403);
        assert_eq!(
            status["message"],
            "pods is forbidden: User \"ada\" cannot list resource \"pods\" in API group \"\" at the cluster scope"
        );
        let (code, _) = site
            .ask(protocol, Some(&site.admin), &[], "/api/v1/pods")
            .await
            .unwrap();
        assert_eq!(code, 200);
        let (code, status) = site.ask(protocol, None, &[], "/api/v1/pods").await.unwrap();
        assert_eq!((code, &status["reason"]), (403, &json!("Forbidden")), "anonymous");
    }
}

#[tokio::test]
async fn tokens_decide_who_may_come_in() {
    let mut tokens = Tokens::default();
    tokens.insert("for-a-master", User::master("root"));
    tokens.insert("for-a-user", User::authenticated("ada", &[]));
    let site = Site::with(ApiServer::builder().tokens(tokens), Timeouts::default()).await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for (token, expected) in [
            ("Bearer for-a-master", 200),
            ("Bearer for-a-user", 403),
            ("Bearer guessed", 401),
            // Whoever shows nothing that is known here is nobody in particular.
            ("Bearer ", 403),
            ("Basic cm9vdDpyb290", 403),
            (&format!("Bearer {}", "x".repeat(10_000)), 401),
        ] {
            let asked = site
                .ask(protocol, None, &[("authorization", token)], "/api/v1/pods")
                .await;
            assert_eq!(asked.unwrap().0, expected, "{token:.40}");
        }
    }
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let site = Site::new().await;
    let mut client = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    let paths = [
        "/version",
        "/api/v1/namespaces/default",
        "/api/v1/namespaces/nowhere",
        "/healthz",
    ];
    let mut requests = String::new();
    for path in paths {
        requests.push_str(&format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n"));
    }
    requests.push_str("GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    client.write_all(requests.as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).await.unwrap();
    let heard = String::from_utf8_lossy(&heard);
    let places: Vec<_> = ["gitVersion", "\"name\":\"default\"", "nowhere", "ok", "ok"]
        .iter()
        .scan(0, |from, text| {
            *from += heard[*from..].find(text)? + 1;
            Some(*from)
        })
        .collect();
    assert_eq!(places.len(), 5, "{heard}");
}

#[tokio::test]
async fn streams_beyond_the_limit_wait_and_rapid_resets_harm_only_their_sender() {
    let site = Site::new().await;
    let mut sender = site.http2(Some(&site.admin)).await;
    // More requests than streams: those above the limit wait for a place.
    let watch = "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=1";
    let mut open = Vec::new();
    for _ in 0..1500 {
        open.push(sender.send_request(site.get(watch)));
    }
    let mut open: Vec<_> = open.into_iter().map(|one| tokio::spawn(one)).collect();
    eventually("as many as may be are open", || {
        site.server.open_watches() == 1000
    })
    .await;
    site.still_answers().await;
    for one in open.drain(..) {
        one.abort();
    }
    drop(sender);
    eventually("none is left", || site.server.open_watches() == 0).await;

    let mut sender = site.http2(Some(&site.admin)).await;
    for _ in 0..5000 {
        if sender.ready().await.is_err() {
            break;
        }
        // Dropping the answer resets the stream.
        let answer = sender.send_request(site.get(watch));
        tokio::select! {
            biased;
            _ = answer => {}
            () = tokio::task::yield_now() => {}
        }
    }
    site.still_answers().await;
    drop(sender);
    eventually("none is left", || site.server.open_watches() == 0).await;
}

#[tokio::test]
async fn too_large_requests_are_refused() {
    let site = Site::new().await;
    let body = Bytes::from(vec![b' '; (3 << 20) + 1]);
    let mut sender = site.http2(Some(&site.admin)).await;
    let request = http::Request::post(format!(
        "https://{}/api/v1/namespaces/default/configmaps",
        site.address
    ))
    .body(Full::new(body.clone()))
    .unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 413);
    let answer = response.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(status["reason"], "RequestEntityTooLarge");

    let client = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    let (mut read, mut write) = tokio::io::split(client);
    let head = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut heard = vec![0; 4096];
    let sending = async {
        write.write_all(head.as_bytes()).await.unwrap();
        let _ = write.write_all(&body).await;
        let _ = write.flush().await;
    };
    let (length, ()) = tokio::join!(async { read.read(&mut heard).await.unwrap() }, sending);
    assert!(
        heard[..length].starts_with(b"HTTP/1.1 413"),
        "{}",
        String::from_utf8_lossy(&heard[..length])
    );

    let mut client = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    let head = format!("GET /version HTTP/1.1\r\nhost: x\r\n{many}\r\n");
    client.write_all(head.as_bytes()).await.unwrap();
    let length = client.read(&mut heard).await.unwrap();
    assert!(
        heard[..length].starts_with(b"HTTP/1.1 431"),
        "{}",
        String::from_utf8_lossy(&heard[..length])
    );
    let mut client = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    client
        .write_all(b"GET /version\r\nSPACE : x\r\n\r\nmore")
        .await
        .unwrap();
    let length = client.read(&mut heard).await.unwrap();
    assert!(
        heard[..length].starts_with(b"HTTP/1.1 400"),
        "{}",
        String::from_utf8_lossy(&heard[..length])
    );
    // One that is refused before it has been read may not hear the answer.
    let large = "x".repeat(1 << 20);
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let asked = site
            .ask(protocol, Some(&site.admin), &[("x-large", &large)], "/version")
            .await;
        assert!(asked.is_none_or(|(code, _)| code == 431));
    }
    site.still_answers().await;
}

#[tokio::test]
async fn a_server_that_stops_ends_watches_and_strangers() {
    let mut site = Site::with(
        ApiServer::builder(),
        Timeouts {
            shutdown: SHORT,
            ..Timeouts::default()
        },
    )
    .await;
    let mut sender = site.http2(Some(&site.admin)).await;
    let mut watch = sender
        .send_request(site.get("/api/v1/configmaps?watch=true&resourceVersion=1"))
        .await
        .unwrap()
        .into_body();
    let mut old = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    old.write_all(b"GET /api/v1/configmaps?watch=true&resourceVersion=1 HTTP/1.1\r\nhost: x\r\n\r\n")
        .await
        .unwrap();
    eventually("both watches are open", || site.server.open_watches() == 2).await;
    // Somebody who has not even begun, and somebody who has stopped halfway.
    let mut mute = site.tcp().await;
    let mut half = site.tls(Protocol::Http1, Some(&site.admin)).await.unwrap();
    half.write_all(b"GET /ver").await.unwrap();
    site.stop().await;
    while let Some(Ok(_)) = watch.frame().await {}
    let mut heard = Vec::new();
    let _ = old.read_to_end(&mut heard).await;
    assert!(heard.starts_with(b"HTTP/1.1 200"));
    let _ = mute.read_to_end(&mut heard).await;
    let _ = half.read_to_end(&mut heard).await;
    assert_eq!(site.server.open_watches(), 0);
    assert!(
        tokio::net::TcpStream::connect(site.address).await.is_err(),
        "nobody listens any more"
    );
}
