//! A client of the Language Server Protocol, as small as the tests of this crate need it.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A running rust-analyzer.
pub struct Server {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    next_id: i64,
    version: i64,
}

/// A place in a document, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl Position {
    /// The first occurrence of a text, and so many characters further.
    pub fn of(document: &str, text: &str, offset: usize) -> Result<Position> {
        let at = document.find(text).with_context(|| format!("`{text}` is not in the document"))? + offset;
        let before = &document[..at];
        let line = before.matches('\n').count();
        Ok(Position { line, column: at - before.rfind('\n').map_or(0, |n| n + 1) })
    }
}

/// `rust-analyzer --version`, where there is one that runs.
pub fn version() -> Option<String> {
    let out = Command::new("rust-analyzer").arg("--version").output().ok().filter(|o| o.status.success())?;
    Some(String::from_utf8_lossy(&out.stdout).trim().to_string())
}

impl Server {
    /// Starts a rust-analyzer on the package in `root`, which is built below `target`, and waits until it has loaded
    /// all.
    pub fn start(root: &Path, target: &Path, patience: Duration) -> Result<Server> {
        let mut child = Command::new("rust-analyzer")
            .current_dir(root)
            .env("CARGO_TARGET_DIR", target)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("rust-analyzer does not start")?;
        let input = child.stdin.take().context("no input")?;
        let mut output = BufReader::new(child.stdout.take().context("no output")?);
        let (send, messages) = channel();
        std::thread::spawn(move || {
            while let Ok(Some(message)) = read(&mut output) {
                if send.send(message).is_err() {
                    break;
                }
            }
        });
        let mut server = Server { child, input, messages, next_id: 0, version: 0 };
        let capabilities = json!({
            "experimental": { "serverStatusNotification": true },
            "textDocument": { "hover": { "contentFormat": ["markdown"] } },
        });
        let options = json!({ "checkOnSave": false, "cachePriming": { "enable": false } });
        let params = json!({
            "processId": std::process::id(), "rootUri": uri(root), "capabilities": capabilities,
            "initializationOptions": options,
        });
        server.request("initialize", params, patience)?;
        server.notify("initialized", json!({}))?;
        server.wait_until_loaded(patience)?;
        Ok(server)
    }

    fn wait_until_loaded(&mut self, patience: Duration) -> Result<()> {
        let end = Instant::now() + patience;
        loop {
            let message = self.receive(end)?;
            if message["method"] == "experimental/serverStatus" && message["params"]["quiescent"] == true {
                let health = &message["params"]["health"];
                ensure!(health != "error", "rust-analyzer: {}", message["params"]["message"]);
                return Ok(());
            }
        }
    }

    /// Gives the server a document, or a new text of it.
    pub fn open(&mut self, path: &Path, text: &str) -> Result<()> {
        self.version += 1;
        let uri = uri(path);
        match self.version {
            1 => {
                let document = json!({ "uri": uri, "languageId": "rust", "version": 1, "text": text });
                self.notify("textDocument/didOpen", json!({ "textDocument": document }))
            }
            version => {
                let document = json!({ "uri": uri, "version": version });
                self.notify(
                    "textDocument/didChange",
                    json!({ "textDocument": document, "contentChanges": [{ "text": text }] }),
                )
            }
        }
    }

    /// The result of a request about a place in a document.
    pub fn ask(&mut self, method: &str, path: &Path, at: Position) -> Result<Value> {
        let position = json!({ "line": at.line, "character": at.column });
        let params = json!({ "textDocument": { "uri": uri(path) }, "position": position });
        self.request(method, params, Duration::from_secs(120))
    }

    fn request(&mut self, method: &str, params: Value, patience: Duration) -> Result<Value> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let end = Instant::now() + patience;
        loop {
            let message = self.receive(end).with_context(|| method.to_string())?;
            if message["id"] == id && message.get("method").is_none() {
                if let Some(error) = message.get("error") {
                    bail!("{method}: {error}");
                }
                return Ok(message["result"].clone());
            }
        }
    }

    /// The next message; requests of the server are answered with nothing.
    fn receive(&mut self, end: Instant) -> Result<Value> {
        let left = end.saturating_duration_since(Instant::now());
        let message = self.messages.recv_timeout(left).map_err(|e| match e {
            RecvTimeoutError::Timeout => anyhow::anyhow!("rust-analyzer does not answer"),
            RecvTimeoutError::Disconnected => anyhow::anyhow!("rust-analyzer has ended"),
        })?;
        if message.get("method").is_some()
            && let Some(id) = message.get("id")
        {
            // Of `workspace/configuration` as many as were asked for.
            let asked =
                message["params"]["items"].as_array().map_or(Value::Null, |i| vec![Value::Null; i.len()].into());
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": asked }))?;
        }
        Ok(message)
    }

    fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        Ok(self.input.flush()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// A message; none at the end.
fn read(from: &mut impl BufRead) -> Result<Option<Value>> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        match line.trim().split_once(": ") {
            Some(("Content-Length", n)) => length = Some(n.parse::<usize>()?),
            Some(_) => {}
            None => break,
        }
    }
    let mut text = vec![0; length.context("a message without its length")?];
    from.read_exact(&mut text)?;
    Ok(Some(serde_json::from_slice(&text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_by_their_length() {
        let mut from = "Content-Length: 7\r\nContent-Type: x\r\n\r\n{\"a\":1}Content-Length: 2\r\n\r\n[]".as_bytes();
        assert_eq!(read(&mut from).unwrap(), Some(json!({ "a": 1 })));
        assert_eq!(read(&mut from).unwrap(), Some(json!([])));
        assert_eq!(read(&mut from).unwrap(), None);
    }

    #[test]
    fn places_are_counted_from_zero() {
        let at = |text, offset| Position::of("fn k() {\n    load(x);\n}", text, offset).unwrap();
        assert_eq!(at("fn", 0), Position { line: 0, column: 0 });
        assert_eq!(at("load", 1), Position { line: 1, column: 5 });
    }
}
