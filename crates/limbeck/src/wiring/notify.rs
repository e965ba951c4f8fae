//! Ways by which people are notified of questions, from the configuration.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use limbeck_gateway::{Escalation, Notice, Notifier};
use limbeck_setup::Settings;
use limbeck_upstream::http::{LocalSecrets, NetworkRules, SecretReference};
use limbeck_upstream::webhook::{Webhook, WebhookSpec};

/// Time for a program of the desktop.
const DESKTOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The configured ways, and what is wrong with others; the errors contain no secret.
pub(crate) fn notifiers(
    settings: &Settings,
    secrets: &Arc<LocalSecrets>,
) -> (Vec<Arc<dyn Notifier>>, Option<String>) {
    let notify = &settings.notify;
    let mut notifiers: Vec<Arc<dyn Notifier>> = Vec::new();
    if notify.desktop {
        notifiers.push(Arc::new(Desktop));
    }
    let webhook = notify.webhook.as_ref().map(|entry| {
        let secret = SecretReference::parse(&entry.secret);
        let secret = secret.ok_or("its secret is not a reference")?;
        let secret = secret.map_err(|problem| format!("its secret: {problem}"))?;
        let spec = WebhookSpec::new(&entry.url, secret);
        let mut spec = spec.map_err(|problem| format!("its url: {problem}"))?;
        spec.network = NetworkRules {
            clear: entry.allow_http,
            ..NetworkRules::default()
        };
        spec.secrets = secrets.clone();
        Webhook::new(spec)
    });
    match webhook {
        Some(Ok(webhook)) => {
            notifiers.push(Arc::new(SignedWebhook(Arc::new(webhook))));
            (notifiers, None)
        }
        Some(Err(problem)) => (notifiers, Some(format!("`notify.webhook`: {problem}"))),
        None => (notifiers, None),
    }
}

/// To whom questions are reported that no person answers.
pub(crate) fn escalation(settings: &Settings) -> Option<Escalation> {
    let entry = settings.notify.escalate.as_ref()?;
    Some(Escalation {
        after: Duration::from_secs(entry.after_s.into()),
        to: entry.to.clone(),
    })
}

#[derive(Debug)]
struct SignedWebhook(Arc<Webhook>);

impl Notifier for SignedWebhook {
    fn notify(&self, notice: Notice) -> BoxFuture<'static, Result<(), String>> {
        let webhook = Arc::clone(&self.0);
        async move {
            let body = serde_json::to_vec(&notice).map_err(|error| error.to_string())?;
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            webhook.send(body, now.map_or(0, |now| now.as_secs())).await
        }
        .boxed()
    }
}

/// `notify-send`, which desktops of Linux have.
#[derive(Debug)]
struct Desktop;

impl Notifier for Desktop {
    fn notify(&self, notice: Notice) -> BoxFuture<'static, Result<(), String>> {
        async move {
            let Notice {
                server,
                tool,
                class,
                execution_id,
                ..
            } = notice;
            // The text is markup to some desktops; names of servers and tools are theirs.
            let plain = |name: String| -> String {
                let is_plain = |c: &char| c.is_ascii_alphanumeric() || "._-".contains(*c);
                name.chars().filter(is_plain).collect()
            };
            let summary = format!("Allow {}.{} ({class})?", plain(server), plain(tool));
            let body = format!("limbeck resume {execution_id}");
            let child = tokio::process::Command::new("notify-send")
                .args(["--app-name=limbeck", "--", &summary, &body])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true)
                .spawn();
            let mut child = child.map_err(|error| format!("notify-send: {error}"))?;
            match tokio::time::timeout(DESKTOP_TIMEOUT, child.wait()).await {
                Ok(Ok(status)) if status.success() => Ok(()),
                Ok(Ok(status)) => Err(format!("notify-send: {status}")),
                Ok(Err(error)) => Err(format!("notify-send: {error}")),
                Err(_) => Err("notify-send does not end".to_owned()),
            }
        }
        .boxed()
    }
}
