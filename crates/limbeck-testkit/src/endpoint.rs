//! An embedding endpoint on a real socket, whose idea of meaning is a list of words.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// Numbers of a vector: one that all share, one for each meaning, and some for what has none of them.
const DIMENSIONS: usize = 24;
/// Numbers for what has none of the meanings.
const OTHERS: usize = 12;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As it should.
    Well,
    /// Not at all, with the connection open.
    Hangs,
    /// With bytes that are no JSON.
    Garbage,
    /// As it should, with vectors of another length.
    OtherDimensions,
    /// HTTP 500 and the headers that it was sent.
    Fails,
    /// HTTP 307 to the url `http://127.0.0.1:PORT/v1/elsewhere`, where it answers well.
    Redirects,
}

/// One request that arrived.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Its path.
    pub path: String,
    /// Its `Authorization`.
    pub authorization: Option<String>,
    /// Its `input`.
    pub texts: Vec<String>,
}

/// The endpoint. Its threads end with the process.
#[derive(Clone, Debug)]
pub struct Endpoint {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    meanings: Vec<Vec<String>>,
    manner: Mutex<Manner>,
    asked: Mutex<Vec<Asked>>,
}

impl Endpoint {
    /// Starts it. Texts that hold words of the same element of `meanings`, in small letters and parted by spaces, mean
    /// the same.
    ///
    /// # Panics
    ///
    /// When no socket can be had, and with more meanings than there are numbers for.
    pub fn start(meanings: &[&str]) -> Self {
        assert!(meanings.len() < DIMENSIONS - OTHERS, "too many meanings");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a socket on this machine");
        let words = |meaning: &&str| meaning.split(' ').map(str::to_owned).collect();
        let endpoint = Self {
            address: listener.local_addr().expect("it is bound"),
            shared: Arc::new(Shared {
                meanings: meanings.iter().map(words).collect(),
                manner: Mutex::new(Manner::Well),
                asked: Mutex::default(),
            }),
        };
        let shared = Arc::clone(&endpoint.shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        endpoint
    }

    /// Its url, as a configuration has it.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers like this from now on.
    pub fn behave(&self, manner: Manner) {
        *lock(&self.shared.manner) = manner;
    }

    /// What it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// How often it was asked about `text`, wherever in a text that stands.
    pub fn times_asked(&self, text: &str) -> usize {
        let asked = self.asked();
        let texts = asked.iter().flat_map(|asked| &asked.texts);
        texts.filter(|asked| asked.contains(text)).count()
    }
}

impl Shared {
    /// Answers the requests of one connection until there is none.
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut read = BufReader::new(stream.try_clone().ok()?);
        let mut write = stream;
        loop {
            let (asked, headers) = request(&mut read)?;
            lock(&self.asked).push(asked.clone());
            let manner = *lock(&self.manner);
            let there = asked.path.ends_with("/elsewhere");
            let response = match manner {
                Manner::Hangs => {
                    std::thread::sleep(Duration::from_secs(60));
                    return None;
                }
                Manner::Garbage => response("200 OK", "", "<html>not at all</html>"),
                Manner::Fails => response("500 Internal Server Error", "", &headers),
                Manner::Redirects if !there => {
                    let to = "Location: /v1/elsewhere\r\n";
                    response("307 Temporary Redirect", to, "")
                }
                Manner::Well | Manner::OtherDimensions | Manner::Redirects => {
                    let more = usize::from(manner == Manner::OtherDimensions);
                    response("200 OK", "", &self.answer(&asked.texts, more))
                }
            };
            write.write_all(response.as_bytes()).ok()?;
        }
    }

    /// The vectors, last text first.
    fn answer(&self, texts: &[String], more: usize) -> String {
        let data = texts.iter().enumerate().rev();
        let data: Vec<Value> = data
            .map(|(index, text)| {
                let mut vector = self.vector(text);
                vector.resize(vector.len() + more, 0.5);
                json!({"object": "embedding", "index": index, "embedding": vector})
            })
            .collect();
        json!({"object": "list", "data": data, "model": "words"}).to_string()
    }

    /// Every vector shares its first number, as with models to which all texts are near.
    fn vector(&self, text: &str) -> Vec<f32> {
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        let mut vector = vec![0.0; DIMENSIONS];
        vector[0] = 2.0;
        let means = |meaning: &&Vec<String>| meaning.iter().any(|word| words.contains(&&**word));
        match self.meanings.iter().position(|meaning| means(&meaning)) {
            Some(place) => vector[1 + place] = 1.0,
            None => {
                let sum: usize = text.bytes().map(usize::from).sum();
                vector[DIMENSIONS - 1 - sum % OTHERS] = 1.0;
            }
        }
        vector
    }
}

/// One request, and its head as it came.
fn request(read: &mut BufReader<TcpStream>) -> Option<(Asked, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if read.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let mut body = vec![0; header("content-length")?.parse().ok()?];
    read.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let texts = body["input"].as_array()?.iter();
    let asked = Asked {
        path: head.split(' ').nth(1)?.to_owned(),
        authorization: header("authorization"),
        texts: texts
            .filter_map(|text| Some(text.as_str()?.to_owned()))
            .collect(),
    };
    Some((asked, head))
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
