//! Skills of principals: found by searches, listed, and kept by the word of a person.

use limbeck_domain::text::cut;
use limbeck_store::{StoreError, StoredSkill};

use super::Gateway;
use crate::search::QUERIES_MAX;
use crate::skills::{
    FOUND_IN_ALL_MAX, SkillError, SkillHit, SkillSaved, found, from_execution, put,
};

impl Gateway {
    /// Skills of this handle's principal that match one of the queries. A search does without those that cannot be read.
    pub(crate) async fn skills_found(&self, queries: &[String]) -> Vec<SkillHit> {
        let skills = match self.store().skills(Some(self.principal())).await {
            Ok(skills) if skills.is_empty() => return Vec::new(),
            Ok(skills) => skills,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "skills cannot be read"
                );
                return Vec::new();
            }
        };
        let queries: Vec<String> = queries.iter().take(QUERIES_MAX).cloned().collect();
        let found = self.compute(move || {
            let mut hits: Vec<SkillHit> = Vec::new();
            for hit in queries.iter().flat_map(|query| found(&skills, query)) {
                if hits.len() < FOUND_IN_ALL_MAX && !hits.contains(&hit) {
                    hits.push(hit);
                }
            }
            hits
        });
        found.await.unwrap_or_default()
    }

    /// Skills of one principal or of all, by name.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub async fn skills(&self, principal: Option<&str>) -> Result<Vec<StoredSkill>, StoreError> {
        self.store().skills(principal).await
    }

    /// Keeps the program of a recorded execution of `principal` as a skill, by the word of a person.
    ///
    /// # Errors
    ///
    /// [`SkillError`]
    pub async fn save_skill(
        &self,
        principal: &str,
        name: &str,
        execution: &str,
        description: Option<String>,
        if_version: Option<u32>,
    ) -> Result<SkillSaved, SkillError> {
        if !limbeck_domain::is_skill_name(name) {
            return Err(SkillError::Name(cut(name, 80).to_owned()));
        }
        let catalog = self.catalog();
        let mut skill = from_execution(self.store(), &catalog, principal, execution, name).await?;
        skill.description = description.unwrap_or_default();
        put(self.store(), principal, skill, false, if_version).await
    }
}
