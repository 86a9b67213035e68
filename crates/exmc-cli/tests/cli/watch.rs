//! `exmc watch`: a run that goes on is followed by its files, and the live page keeps to its rules.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::Folder;

/// A run whose file says that it goes on, though nobody works on it.
fn silent_run() -> Folder {
    let folder = Folder::with_models();
    folder.sample("schools.json", "run", &[]).ends_with(0);
    let record = String::from_utf8(folder.read("run/run.json")).unwrap();
    let mut record: Value = serde_json::from_str(&record).unwrap();
    record["status"] = "running".into();
    record["chains"] = Value::Array(Vec::new());
    folder.write("run/run.json", &record.to_string());
    folder
}

#[test]
fn a_run_is_followed_to_its_end() {
    let folder = Folder::with_models();
    folder.write(
        "slow.stan",
        "data { int n; } parameters { real x; } model { x ~ normal(0, 1); } generated quantities \
         { real busy = 0; for (i in 1:n) busy += sin(busy + i * x); }",
    );
    folder.write("slow-data.json", r#"{"n": 20000}"#);
    let args = ["sample", "slow.stan", "--data", "slow-data.json", "--draws", "2000", "--chains"];
    let more = ["2", "--out", "run", "-q", "--checkpoint-every", "0.1"];
    let mut sampler = folder.command(&[&args[..], &more].concat());
    let mut sampler = sampler.stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while !folder.path("run/run.json").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "no run after a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
    let ran = folder.exmc(&["watch", "run", "--json", "--patience", "100"]).ends_with(0);
    assert!(sampler.wait().unwrap().success());
    let states: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&states[0]["event"], &states[0]["status"]), (&"watch".into(), &"running".into()));
    let last = states.last().unwrap();
    assert_eq!(last["status"], "completed");
    let mut before = 0;
    for state in &states {
        let draws = state["chains"][0]["draws"].as_u64().unwrap();
        assert!(draws >= before, "{state}");
        before = draws;
    }
    for chain in last["chains"].as_array().unwrap() {
        assert_eq!((&chain["draws"], &chain["phase"]), (&2000.into(), &"completed".into()));
        assert!(chain["ess_worst"].as_f64().unwrap() > 100.0, "{chain}");
    }
    assert!(last["ess_worst"].as_f64() <= last["ess_lp"].as_f64());
}

#[test]
fn once_shows_a_table_and_a_dead_run_ends_with_five() {
    let folder = silent_run();
    let once = folder.exmc(&["watch", "run", "--once"]).ends_with(0);
    let head: Vec<&str> = once.stdout.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head[..3], ["chain", "phase", "draws"]);
    assert!(once.stdout.contains("400 of") || once.stdout.contains("1200 of"), "{once:?}");
    assert!(once.stdout.contains("`run`: running; all chains together: ess of lp "), "{once:?}");
    let dead = folder.exmc(&["watch", "run", "--patience", "1"]).ends_with(5);
    assert!(dead.stderr.contains("nothing has changed in `run` for 1 seconds"), "{dead:?}");
    folder.exmc(&["watch", "nowhere"]).ends_with(4);
    folder.exmc(&["watch", "run", "--patience", "-1"]).ends_with(2);
    for address in ["0.0.0.0:0", "[::]:0", "localhost:1", "10.0.0.1:80", "127.0.0.1"] {
        folder.exmc(&["watch", "run", &format!("--serve={address}")]).ends_with(2);
    }
}

/// A program that shows a run, and its address.
struct Served {
    _folder: Folder,
    child: Child,
    host: String,
    token: String,
}

impl Served {
    fn start() -> Self {
        let folder = silent_run();
        let mut child = folder
            .command(&["watch", "run", "--serve", "--json"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("the run is at http://").unwrap();
        let (host, token) = url.trim_end_matches('/').split_once('/').unwrap();
        assert_eq!(token.len(), 32);
        let (host, token) = (host.to_owned(), token.to_owned());
        Self { _folder: folder, child, host, token }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// All of the answer to some bytes; nothing where the connection was closed without one.
    fn ask(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that has had enough closes before all is sent.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The status of the answer; 0 where there is none.
    fn status(&self, bytes: &[u8]) -> u16 {
        let answer = self.ask(bytes);
        answer.strip_prefix("HTTP/1.1 ").map_or(0, |rest| rest[..3].parse().unwrap())
    }

    fn get(&self, path: &str, more: &str) -> Vec<u8> {
        let Self { host, token, .. } = self;
        format!("GET /{token}/{path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n").into_bytes()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_page_its_parts_and_its_events_are_served_with_strict_headers() {
    let served = Served::start();
    for (path, kind, holds) in [
        ("", "text/html", "<title>exmc watch</title>"),
        ("page.js", "text/javascript", "EventSource"),
        ("page.css", "text/css", "color-scheme"),
        ("state", "application/json", "\"status\":\"running\""),
    ] {
        let answer = served.ask(&served.get(path, ""));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{path}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(kind) && body.contains(holds), "{path}: {answer}");
        assert!(head.contains("Content-Security-Policy: default-src 'none'; script-src 'self'"));
        assert!(!head.contains("Access-Control"), "{head}");
        assert!(head.contains("X-Content-Type-Options: nosniff"));
    }
    // No part of the page names another host.
    for path in ["", "page.js", "page.css"] {
        let answer = served.ask(&served.get(path, ""));
        let body = answer.split_once("\r\n\r\n").unwrap().1.replace("http://www.w3.org", "");
        assert!(!body.contains("http://") && !body.contains("https://") && !body.contains("//cdn"));
    }
    let mut stream = served.connect();
    stream.write_all(&served.get("events", "")).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut data = lines.by_ref().filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    let state: Value = serde_json::from_str(&data.next().unwrap()).unwrap();
    assert_eq!(state["chains"].as_array().unwrap().len(), 4);
    assert!(state["chains"][0]["lp"].as_array().unwrap().len() >= 100);
    assert!(data.next().is_some(), "the next look is sent too");
}

#[test]
fn what_is_not_a_request_for_the_page_is_refused() {
    let served = Served::start();
    let Served { host, token, .. } = &served;
    let port = host.rsplit_once(':').unwrap().1;
    let mut cases: Vec<(String, &[u16])> = Vec::new();
    // Hosts: another name that leads here is DNS rebinding.
    for wrong in [
        "evil.example",
        "localhost",
        "127.0.0.1",
        "127.0.0.2:80",
        "",
        "[::1]:80",
        "0.0.0.0:80",
        &format!("evil.example:{port}"),
        &format!("localhost:{port}"),
        &format!("{host}."),
        &format!("{host}.evil.example"),
        &format!("evil@{host}"),
        &format!("127.0.0.1.:{port}"),
        &format!("127.1:{port}"),
        &format!("2130706433:{port}"),
        &format!("0{host}"),
    ] {
        cases.push((format!("GET /{token}/ HTTP/1.1\r\nHost: {wrong}\r\n\r\n"), &[403]));
    }
    cases.push((format!("GET /{token}/ HTTP/1.1\r\n\r\n"), &[400]));
    cases.push((format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nHost: evil\r\n\r\n"), &[400]));
    cases.push((format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n"), &[400]));
    cases.push((format!("GET http://{host}/{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), &[400]));
    // Tokens.
    let mut flipped = token.clone();
    flipped.replace_range(0..1, if token.starts_with('0') { "1" } else { "0" });
    for wrong in [
        "/",
        "//",
        "/events",
        "/state",
        "/page.js",
        "/favicon.ico",
        "/robots.txt",
        "/?token=",
        &format!("/{flipped}/"),
        &format!("/{}/", token.to_uppercase().replace(char::is_numeric, "A")),
        &format!("/{}/", &token[1..]),
        &format!("/{token}0/"),
        &format!("/?{token}/"),
        &format!("/{token}"),
        &format!("//{token}/"),
        &format!("/./{token}/"),
    ] {
        cases.push((format!("GET {wrong} HTTP/1.1\r\nHost: {host}\r\n\r\n"), &[404]));
    }
    // Paths.
    for wrong in [
        "../run.json",
        "..%2frun.json",
        "%2e%2e/run.json",
        "..\\run.json",
        "run.json",
        "/etc/passwd",
        "....//run.json",
        "%00",
        "page.js/",
        "page.js?x",
        "page.js%00",
        "./page.js",
        "events/..",
        "//",
        "state#",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "..;/run.json",
        "chain-0.draws",
    ] {
        cases.push((format!("GET /{token}/{wrong} HTTP/1.1\r\nHost: {host}\r\n\r\n"), &[404]));
    }
    // Methods.
    for method in [
        "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "PROPFIND", "GETT",
    ] {
        cases.push((format!("{method} /{token}/state HTTP/1.1\r\nHost: {host}\r\n\r\n"), &[405]));
    }
    // Pages of others, and what is more than a plain request.
    for (header, status) in [
        ("Origin: http://evil.example", 403),
        ("Origin: null", 403),
        ("Origin: https://127.0.0.1", 403),
        ("Sec-Fetch-Site: cross-site", 403),
        ("Sec-Fetch-Site: same-site", 403),
        ("Content-Length: 5", 400),
        ("Content-Length: -1", 400),
        ("Transfer-Encoding: chunked", 400),
        ("Upgrade: websocket", 400),
        (" folded: x", 400),
        ("no colon", 400),
        (": no name", 400),
        ("Bad Name: x", 400),
        ("X: a\u{7}b", 400),
        ("X: \u{e9}", 400),
        ("Host : x", 400),
        ("X: a\nHost: b", 400),
        ("X: a\rb", 400),
    ] {
        let text = format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\n{header}\r\n\r\n");
        cases.push((text, if status == 403 { &[403] } else { &[400] }));
    }
    // Broken request lines.
    for line in [
        "",
        "GET",
        "GET /",
        "GET  / HTTP/1.1",
        "get / HTTP/1.1",
        "GET / HTTP/1.1 x",
        "GET /\tHTTP/1.1",
        "GET / http/1.1",
        "\u{16}\u{3}\u{1}\u{2}",
        "G\u{0}T / HTTP/1.1",
        " GET / HTTP/1.1",
    ] {
        cases.push((format!("{line}\r\nHost: {host}\r\n\r\n"), &[400]));
    }
    for version in ["HTTP/2.0", "HTTP/0.9", "HTTP/1.2", "HTTP/11"] {
        cases.push((format!("GET /{token}/ {version}\r\nHost: {host}\r\n\r\n"), &[505]));
    }
    cases.push((
        format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
        &[400],
    ));
    // Too much.
    let long = "x".repeat(9000);
    let many: String = (0..70).map(|k| format!("X-{k}: y\r\n")).collect();
    for more in
        [format!("X: {long}\r\n"), format!("{long}: y\r\n"), format!("Cookie: {long}\r\n"), many]
    {
        let text = format!("GET /{token}/ HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
        cases.push((text, &[431, 0]));
    }
    cases.push((format!("GET /{long} HTTP/1.1\r\nHost: {host}\r\n\r\n"), &[431, 0]));
    assert!(cases.len() >= 100, "{}", cases.len());
    for (request, expected) in &cases {
        let status = served.status(request.as_bytes());
        assert!(expected.contains(&status), "{status} for {request:?}, expected {expected:?}");
    }
    // It still serves, and also who gives headers that a browser gives.
    let origin = format!("Origin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n");
    assert_eq!(served.status(&served.get("state", &origin)), 200);
}

#[test]
fn slow_broken_and_many_connections_do_not_hold_it_up() {
    let served = Served::start();
    // Bytes that trickle in: the time for a whole request is bounded, not that for a byte.
    let (mut trickle, began) = (served.connect(), Instant::now());
    let request = served.get("state", "");
    let mut is_closed = false;
    for byte in request.iter().cycle() {
        if trickle.write_all(&[if *byte == b'\n' { b'x' } else { *byte }]).is_err() {
            is_closed = true;
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
        assert!(began.elapsed() < Duration::from_secs(15), "it still listens");
    }
    assert!(is_closed);
    // Half a request, and nothing at all, are answered or closed within the time for a request.
    let began = Instant::now();
    assert_eq!(served.status(b"GET / HTTP/1.1\r\nHost:"), 408);
    assert_eq!(served.status(b""), 408);
    assert!(began.elapsed() < Duration::from_secs(15));
    // A client that hangs up.
    for _ in 0..20 {
        drop(served.connect());
        let mut stream = served.connect();
        stream.write_all(b"GET").unwrap();
    }
    // More than there is room for: some are told so, and all is well when they are gone. A try in
    // which clients of before still had room, or idle ones were given up, shows nothing.
    let was_refused = (0..30).any(|_| {
        let idle: Vec<TcpStream> = (0..60).map(|_| served.connect()).collect();
        let busy = served.ask(&request);
        drop(idle);
        std::thread::sleep(Duration::from_millis(100));
        busy.is_empty() || busy.starts_with("HTTP/1.1 503")
    });
    assert!(was_refused, "sixty connections at once were taken");
    let began = Instant::now();
    while served.status(&request) != 200 {
        assert!(began.elapsed() < Duration::from_secs(15), "it does not recover");
        std::thread::sleep(Duration::from_millis(100));
    }
    // Readers of events that take nothing in are dropped, others are served meanwhile.
    let _deaf: Vec<TcpStream> = (0..10)
        .map(|_| {
            let mut stream = served.connect();
            stream.write_all(&served.get("events", "")).unwrap();
            stream
        })
        .collect();
    assert_eq!(served.status(&request), 200);
}
