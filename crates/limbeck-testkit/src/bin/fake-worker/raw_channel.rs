//! Channel to the gateway without the protocol checks of a real worker.

use std::io::{Read as _, Write as _};

use limbeck_domain::{CallId, HostCall, HostOp, ProgramStart};
use limbeck_wire::{
    CheckRequest, Delivery, Done, FrameReader, FromWorker, Idle, LogLine, LogStream, ToWorker,
    WorkerChannel, decode_to_worker, encode,
};

/// Both directions of a channel. Errors of sending are ignored: the gateway closes its end when it kills the worker.
pub(crate) struct RawChannel {
    channel: WorkerChannel,
    reader: FrameReader<ToWorker>,
    last_call: u32,
}

impl RawChannel {
    pub(crate) fn new(channel: WorkerChannel) -> Self {
        Self {
            channel,
            reader: FrameReader::default(),
            last_call: 0,
        }
    }

    /// Sends bytes; `false` when the gateway has closed the channel.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> bool {
        self.channel.write_all(bytes).is_ok()
    }

    /// Sends a frame that announces `length` bytes, followed by the bytes `sent`.
    pub(crate) fn announce(&mut self, length: u32, sent: &[u8]) {
        self.raw(&[&length.to_le_bytes(), sent].concat());
    }

    /// Sends a frame with the bytes of its kind and body.
    pub(crate) fn body(&mut self, frame: &[u8]) {
        self.announce(frame.len() as u32, frame);
    }

    pub(crate) fn send(&mut self, frame: &FromWorker) {
        let bytes = encode(frame, Vec::new()).expect("frames that cannot be encoded are sent raw");
        self.raw(&bytes);
    }

    /// Sends a check of a program without calls.
    pub(crate) fn check(&mut self) {
        self.check_sites(r#"{"sites":[]}"#);
    }

    /// Sends a check that takes long: of a call to the server `silent`, which never lists its tools.
    pub(crate) fn long_check(&mut self) {
        self.check_sites(
            r#"{"sites":[{"line":1,"column":1,"server":"silent","tool":"any","complete":true}]}"#,
        );
    }

    fn check_sites(&mut self, sites: &str) {
        let sites = sites.to_owned();
        self.send(&FromWorker::Check(CheckRequest { sites }));
    }

    /// Sends a call with the next id.
    pub(crate) fn call(&mut self, op: HostOp, head: &str, body: &str) {
        self.last_call += 1;
        self.call_as(self.last_call, op, head, body);
    }

    /// Sends a call of a tool of server `t`, with the next id.
    pub(crate) fn tool(&mut self, tool: &str) {
        let head = format!(r#"{{"server":"t","tool":"{tool}"}}"#);
        self.call(HostOp::Tool, &head, "{}");
    }

    pub(crate) fn call_as(&mut self, id: u32, op: HostOp, head: &str, body: &str) {
        self.send(&FromWorker::Call(HostCall {
            id: CallId(id),
            op,
            head: head.to_owned(),
            body: body.to_owned(),
        }));
    }

    pub(crate) fn log(&mut self, text: &str) {
        self.send(&FromWorker::Log(LogLine {
            stream: LogStream::Stdout,
            text: text.to_owned(),
        }));
    }

    pub(crate) fn idle(&mut self, wake_at_us: Option<u64>) {
        self.send(&FromWorker::Idle(Idle { wake_at_us }));
    }

    pub(crate) fn value(&mut self, json: &str) {
        self.send(&done(json));
    }

    /// Receives the program; `None` when another frame arrives or the channel closes.
    pub(crate) fn program(&mut self) -> Option<Box<ProgramStart>> {
        match self.receive()? {
            ToWorker::Start(start) => Some(Box::new(start.program)),
            ToWorker::Deliver(_) | ToWorker::Verdict(_) => None,
        }
    }

    /// Receives the next answers; `None` when the channel closes.
    pub(crate) fn delivery(&mut self) -> Option<Delivery> {
        match self.receive()? {
            ToWorker::Deliver(delivery) => Some(delivery),
            ToWorker::Start(_) | ToWorker::Verdict(_) => None,
        }
    }

    /// Discards input until the channel closes.
    pub(crate) fn wait(&mut self) {
        while let Ok(1..) = self.channel.read(&mut [0; 4096]) {}
    }

    fn receive(&mut self) -> Option<ToWorker> {
        let mut bytes = vec![0; 64 << 10];
        loop {
            if let Some(frame) = self.reader.next_frame().ok()? {
                return decode_to_worker(frame).ok();
            }
            match self.channel.read(&mut bytes) {
                Ok(0) | Err(_) => return None,
                Ok(read) => self.reader.push(&bytes[..read]),
            }
        }
    }
}

/// `Done` frame with a value.
pub(crate) fn done(json: &str) -> FromWorker {
    FromWorker::Done(Box::new(Done {
        result: Ok(Some(json.to_owned())),
        written_in: None,
        warnings: Vec::new(),
        given_up: Vec::new(),
        log_bytes_dropped: 0,
        memory_bytes: 0,
    }))
}
