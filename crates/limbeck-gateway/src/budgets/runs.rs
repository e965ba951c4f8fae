//! Budgets of whole runs: the processor time of their workers, and the tokens of their answers.
//!
//! A run begins while there is some left, and may compute for as long as is left. Its processor time is counted when it ends or
//! pauses, in the steps of the system, 10 ms; the tokens of its answer when it is sent.

use std::sync::Arc;
use std::time::Duration;

use limbeck_domain::{ErrorKind, ExecutionId, ProgramError};
use limbeck_policy::Requester;
use limbeck_policy::budget::{Budget, Period, Unit, UnitKind};
use limbeck_store::Charge;

use super::{charge_of, texts};
use crate::broker::BrokerContext;
use crate::clock::now_us;
use crate::store_errors::program_error;

struct RunTotal {
    budget: Arc<Budget>,
    unit: Unit,
    period: Period,
    charge: Charge,
}

impl BrokerContext {
    /// Processor time that a run of `principal` may use, in milliseconds, at most `most_ms`.
    ///
    /// # Errors
    ///
    /// The error of a run that must not begin: a budget of runs is used up.
    pub(crate) async fn run_within_budgets(
        &self,
        principal: &str,
        most_ms: u64,
    ) -> Result<u64, ProgramError> {
        let now_us = now_us();
        let totals = self.run_totals(principal, now_us);
        if totals.is_empty() {
            return Ok(most_ms);
        }
        let charges = totals.iter().map(|total| total.charge.clone()).collect();
        let used = self.store.used_of(None, charges).await;
        let used = used.map_err(|error| {
            program_error(
                &error,
                "what budgets have used is not known, so nothing ran",
            )
        })?;
        let mut cpu_ms = most_ms;
        for (total, used) in totals.iter().zip(used) {
            let left = total.charge.limit.unwrap_or(u64::MAX).saturating_sub(used);
            if left == 0 {
                return Err(refusal(total, used, now_us));
            }
            if total.unit == Unit::Cpu {
                cpu_ms = cpu_ms.min(left);
            }
        }
        Ok(cpu_ms)
    }

    /// Counts the processor time that a worker of `execution` has used.
    pub(crate) async fn count_cpu(&self, principal: &str, execution: &ExecutionId, cpu: Duration) {
        let ms = u64::try_from(cpu.as_millis()).unwrap_or(u64::MAX);
        self.count_of_run(principal, execution, Unit::Cpu, ms).await;
    }

    /// Whether the tokens of answers to `principal` are counted.
    pub(crate) fn counts_tokens(&self, principal: &str) -> bool {
        let totals = self.run_totals(principal, now_us());
        totals.iter().any(|total| total.unit == Unit::Tokens)
    }

    /// Counts the tokens of an answer.
    pub(crate) async fn count_tokens(
        &self,
        principal: &str,
        execution: &ExecutionId,
        tokens: usize,
    ) {
        self.count_of_run(principal, execution, Unit::Tokens, tokens as u64)
            .await;
    }

    async fn count_of_run(
        &self,
        principal: &str,
        execution: &ExecutionId,
        unit: Unit,
        amount: u64,
    ) {
        let totals = self.run_totals(principal, now_us()).into_iter();
        let charges: Vec<Charge> = totals
            .filter(|total| total.unit == unit)
            .map(|total| Charge {
                amount,
                limit: None,
                ..total.charge
            })
            .collect();
        if charges.is_empty() || amount == 0 {
            return;
        }
        if let Err(error) = self.store.charge_later(Some(execution), charges).await {
            tracing::error!(execution = %execution, error = &error as &dyn std::error::Error, "what a run used could not be counted");
        }
    }

    fn run_totals(&self, principal: &str, now_us: u64) -> Vec<RunTotal> {
        let requester = Requester::of_principal(principal);
        let mut totals = Vec::new();
        for budget in self.policy.newest().budgets() {
            if !budget.is_for(&requester.names()) {
                continue;
            }
            let subject = budget.subject(principal, None);
            let limits: Vec<_> = budget.limits_of(UnitKind::Run).collect();
            for (period, unit, limit) in limits {
                totals.push(RunTotal {
                    charge: charge_of(&budget, &subject, (period, unit), 0, limit, now_us),
                    budget: Arc::clone(&budget),
                    unit,
                    period,
                });
            }
        }
        totals
    }
}

fn refusal(total: &RunTotal, used: u64, now_us: u64) -> ProgramError {
    let text = texts::used_up(&total.budget, total.unit, &total.charge, used);
    let message = match total.period.end_us(now_us) {
        Some(end_us) => format!(
            "{text}, so nothing ran. There is room again {}",
            texts::when(end_us, now_us)
        ),
        None => format!("{text}, so nothing ran"),
    };
    ProgramError::new(ErrorKind::Busy, message)
        .with_hint("do not send the program again before that; tell the user when it can run")
}
