//! Modules below two partner places → which is which, by order, class and content.
//!
//! The profiler numbers modules as they come, so that one more of a class renumbers all later ones.
//! The order of first calls is what stays. Of all ways to pair two sequences without crossing, the one
//! with the most likeness is taken: a pair of one class counts 1 and what their contents share twice,
//! a pair of two classes counts only where nearly all of their contents is the same (a renamed class).

use super::bag::{Bag, Bags, likeness};
use crate::gate::digest::Digest;
use indextree::NodeId;

/// From which likeness on modules of two classes are one that was renamed.
const RENAMED: f64 = 0.75;

/// Longer sequences than this are paired by position from both ends: no model has as many siblings.
const LONGEST: usize = 2_000;

/// The pairs of two sequences of modules, in order.
pub(super) fn pairs(
    digests: (&Digest, &Digest),
    bags: (&Bags<'_>, &Bags<'_>),
    ones: &[NodeId],
    twos: &[NodeId],
) -> Vec<(NodeId, NodeId)> {
    let same = |&(&one, &two): &(&NodeId, &NodeId)| bags.0.hash(one) == bags.1.hash(two);
    let head = ones.iter().zip(twos).take_while(same).count();
    let rest = (&ones[head..], &twos[head..]);
    let tail = rest.0.iter().rev().zip(rest.1.iter().rev()).take_while(same).count();
    let middle = (&rest.0[..rest.0.len() - tail], &rest.1[..rest.1.len() - tail]);
    let mut pairs: Vec<(NodeId, NodeId)> =
        ones[..head].iter().copied().zip(twos[..head].iter().copied()).collect();
    pairs.extend(match middle.0.len().max(middle.1.len()) > LONGEST {
        true => middle.0.iter().copied().zip(middle.1.iter().copied()).collect(),
        false => Matrix::of(digests, bags, middle.0, middle.1).pairs(),
    });
    let ends = (&ones[ones.len() - tail..], &twos[twos.len() - tail..]);
    pairs.extend(ends.0.iter().copied().zip(ends.1.iter().copied()));
    pairs
}

/// The most likeness of all pairings of the first modules of two sequences.
struct Matrix<'a> {
    ones: &'a [NodeId],
    twos: &'a [NodeId],
    /// Of each pair; below 0 where they are no pair.
    scores: Vec<f64>,
    best: Vec<f64>,
}

impl<'a> Matrix<'a> {
    fn of(
        digests: (&Digest, &Digest),
        bags: (&Bags<'_>, &Bags<'_>),
        ones: &'a [NodeId],
        twos: &'a [NodeId],
    ) -> Matrix<'a> {
        let contents = |bags: &Bags<'_>, ids: &[NodeId]| -> Vec<Bag> {
            ids.iter().map(|&id| bags.bag(id)).collect()
        };
        let contents = (contents(bags.0, ones), contents(bags.1, twos));
        let mut scores = Vec::with_capacity(ones.len() * twos.len());
        for (at, &one) in ones.iter().enumerate() {
            for (to, &two) in twos.iter().enumerate() {
                let alike = match bags.0.hash(one) == bags.1.hash(two) {
                    true => 1.0,
                    false => likeness(&contents.0[at], &contents.1[to]),
                };
                let is_class = digests.0.node(one).class() == digests.1.node(two).class();
                scores.push(match is_class {
                    true => 1.0 + 2.0 * alike,
                    false if alike >= RENAMED => alike,
                    false => -1.0,
                });
            }
        }
        let mut matrix = Matrix { ones, twos, scores, best: Vec::new() };
        matrix.fill();
        matrix
    }

    fn width(&self) -> usize {
        self.twos.len() + 1
    }

    /// Row by row from the end, so that the way from the start takes the earliest pairs of equals.
    fn fill(&mut self) {
        let (rows, width) = (self.ones.len() + 1, self.width());
        self.best = vec![0.0; rows * width];
        for at in (0..self.ones.len()).rev() {
            for to in (0..self.twos.len()).rev() {
                let skip = self.at(at + 1, to).max(self.at(at, to + 1));
                let score = self.scores[at * self.twos.len() + to];
                let pair = if score >= 0.0 { score + self.at(at + 1, to + 1) } else { 0.0 };
                self.best[at * width + to] = skip.max(pair);
            }
        }
    }

    fn at(&self, at: usize, to: usize) -> f64 {
        self.best[at * self.width() + to]
    }

    fn pairs(&self) -> Vec<(NodeId, NodeId)> {
        let (mut at, mut to) = (0, 0);
        let mut pairs = Vec::new();
        while at < self.ones.len() && to < self.twos.len() {
            let score = self.scores[at * self.twos.len() + to];
            if score >= 0.0 && score + self.at(at + 1, to + 1) >= self.at(at, to) {
                pairs.push((self.ones[at], self.twos[to]));
                (at, to) = (at + 1, to + 1);
            } else if self.at(at + 1, to) >= self.at(at, to + 1) {
                at += 1;
            } else {
                to += 1;
            }
        }
        pairs
    }
}
