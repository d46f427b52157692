//! Votes of calls for the steps that they are in → which steps are the same ones, where one trace has
//! more of them.
//!
//! ```text
//! trace1   step 0   step 1                       calls with a partner vote for the steps that they and
//! trace2   step 0   step 1   step 2   step 3     it are in: 2 and 3 have no partner
//! ```

use crate::program::StepId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many calls of a step of the baseline have their partner in a step of the candidate.
pub(crate) type StepVotes = BTreeMap<[StepId; 2], usize>;

/// The steps of both traces of which each has more partners in the other than in any other step.
pub(crate) fn mutual_pairs(votes: &StepVotes) -> BTreeMap<StepId, StepId> {
    let favourites = |side: usize| {
        let mut favourites: BTreeMap<StepId, (usize, Reverse<StepId>)> = BTreeMap::new();
        for (steps, &votes) in votes {
            let vote = (votes, Reverse(steps[1 - side]));
            let most = favourites.entry(steps[side]).or_insert(vote);
            *most = vote.max(*most);
        }
        favourites
    };
    let (mine, theirs) = (favourites(0), favourites(1));
    let pairs = mine.into_iter().map(|(a, (votes, Reverse(b)))| (a, b, votes));
    let is_mutual = |&(a, b, votes): &(StepId, StepId, usize)| {
        votes > 0 && theirs.get(&b).is_some_and(|&(_, Reverse(most))| most == a)
    };
    pairs.filter(is_mutual).map(|(a, b, _)| (a, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_are_a_pair_where_each_votes_for_the_other() {
        let votes = [([0, 0], 9), ([0, 1], 2), ([1, 1], 1), ([2, 1], 5), ([3, 4], 0)];
        let votes = votes.map(|(steps, votes)| (steps.map(StepId), votes)).into();
        let pairs = [(StepId(0), StepId(0)), (StepId(2), StepId(1))];
        assert_eq!(mutual_pairs(&votes), BTreeMap::from(pairs));
    }
}
