//! Two small ordered trees → the most pairs of equal labels that keep who is below whom and before whom.
//!
//! The exact answer by Zhang and Shasha (1989), "Simple fast algorithms for the editing distance between
//! trees", for trees of tens of nodes: relabelling is never cheaper than to remove and to insert, so
//! that the distance counts nodes without partner, and what is left of both trees are pairs.

/// A tree in postorder.
#[derive(Debug, Default)]
pub struct Ordered {
    labels: Vec<String>,
    /// For each node the first leaf below it, itself where it is one.
    first_leaves: Vec<usize>,
}

impl Ordered {
    /// Adds the node behind its children, of which `first` is the position of the first leaf.
    pub fn push(&mut self, label: String, first: Option<usize>) {
        self.first_leaves.push(first.unwrap_or(self.labels.len()));
        self.labels.push(label);
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The last node of each path of first leaves, rising: all that has an elder sibling, and the root.
    fn key_roots(&self) -> Vec<usize> {
        let is_last = |&at: &usize| {
            let first = self.first_leaves[at];
            self.first_leaves[at + 1..].iter().all(|&other| other != first)
        };
        (0..self.len()).filter(is_last).collect()
    }
}

/// The largest number of pairs of equal labels in a mapping of the one tree to the other.
pub fn most_pairs(one: &Ordered, two: &Ordered) -> usize {
    let mut distances = vec![vec![0_usize; two.len()]; one.len()];
    for &i in &one.key_roots() {
        for &j in &two.key_roots() {
            fill(one, two, (i, j), &mut distances);
        }
    }
    let last = distances.last().and_then(|row| row.last());
    last.map_or(0, |distance| (one.len() + two.len() - distance) / 2)
}

/// The distances between all subtrees that begin where those of two key roots do.
fn fill(one: &Ordered, two: &Ordered, (i, j): (usize, usize), distances: &mut [Vec<usize>]) {
    let (from, until) = ((one.first_leaves[i], two.first_leaves[j]), (i + 1, j + 1));
    let (rows, columns) = (until.0 - from.0, until.1 - from.1);
    // Of the forests of the first so many nodes.
    let mut forests = vec![vec![0_usize; columns + 1]; rows + 1];
    for row in 0..=rows {
        for column in 0..=columns {
            if row == 0 || column == 0 {
                forests[row][column] = row + column;
                continue;
            }
            let (x, y) = (from.0 + row - 1, from.1 + column - 1);
            let skipped = 1 + forests[row - 1][column].min(forests[row][column - 1]);
            let whole = one.first_leaves[x] == from.0 && two.first_leaves[y] == from.1;
            let paired = if whole {
                let changed = if one.labels[x] == two.labels[y] { 0 } else { 2 };
                forests[row - 1][column - 1] + changed
            } else {
                let before = (one.first_leaves[x] - from.0, two.first_leaves[y] - from.1);
                forests[before.0][before.1] + distances[x][y]
            };
            forests[row][column] = skipped.min(paired);
            if whole {
                distances[x][y] = forests[row][column];
            }
        }
    }
}
