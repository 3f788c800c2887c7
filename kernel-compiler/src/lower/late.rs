//! Products that follow each other over the iterations of a loop are waited for one iteration late, so that the tensor cores have
//! the next one before they are done with this: their operands' buffers are given back one iteration late, too. That is
//! for a warpgroup alone on its multiprocessor: several fill each other's gaps, and miss the buffer.

use super::pipeline::Pipeline;
use super::*;
use std::collections::HashSet;

/// What goes on from one iteration of a loop to the next: the last product, and the variable it goes to.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    pub product: Value,
    pub var: Var,
}

/// What is late in a loop, and the channel of its operands.
#[derive(Clone, Copy, Debug)]
pub struct Late {
    pub of: InFlight,
    pub channel: usize,
}

/// The loops, by their address, whose iterations do nothing with the accumulators but multiply.
pub fn find(f: &Func, p: &Pipeline) -> HashMap<StmtId, Late> {
    if f.warps > 4 || f.blocks_per_sm > 1 {
        return HashMap::new();
    }
    let uses = super::uses(f);
    let loops = crate::analyse::walk(&f.body)
        .filter_map(|s| if let StmtKind::For { body, options, .. } = &s.kind { Some((s, body, options)) } else { None });
    loops
        .filter(|(.., options)| options.unroll <= 1)
        .filter_map(|(s, body, _)| Some((s.id, of_loop(f, p, &uses, body)?)))
        .collect()
}

fn of_loop(f: &Func, p: &Pipeline, uses: &[u32], body: &[Stmt]) -> Option<Late> {
    let straight = body.iter().all(|s| matches!(&s.kind, StmtKind::Let(_) | StmtKind::Assign(..)));
    let mut released = body.iter().filter_map(|s| p.release.get(&s.id).map(|c| (s, c)));
    let (Some((last, channels)), None) = (released.next(), released.next()) else { return None };
    let StmtKind::Let(product) = &last.kind else { return None };
    let [channel] = channels[..] else { return None };
    // With one buffer the next operands would never come.
    let stages = p.ring_of(channel).stages;
    let buffers = if stages == 0 { f.stages } else { stages };
    let c = &p.channels[channel];
    if !straight || buffers == 1 || c.by_threads || !c.fetched.is_empty() || !p.dots.contains_key(product) {
        return None;
    }
    let dots: Vec<Value> = body
        .iter()
        .filter_map(|s| if let StmtKind::Let(v) = &s.kind { p.dots.contains_key(v).then_some(*v) } else { None })
        .collect();
    // What an iteration computes for its products must not be needed any more when the next one does.
    if dots.iter().any(|d| p.dots[d].is_computed()) {
        return None;
    }
    let chain = dots.windows(2).all(|w| accumulator(f, w[1]) == w[0] && p.chained.contains(&w[0]))
        && dots.last() == Some(product);
    let of = in_flight(f, uses, body, &dots)?;
    chain.then_some(Late { of, channel })
}

fn accumulator(f: &Func, dot: Value) -> Value {
    if let Op::Dot { acc, .. } = f.op(dot) { *acc } else { unreachable!("a dot") }
}

/// The last of an iteration's products, of which each adds to the one before, if it does nothing else with them.
pub fn in_flight(f: &Func, uses: &[u32], body: &[Stmt], dots: &[Value]) -> Option<InFlight> {
    let (first, product) = (accumulator(f, *dots.first()?), *dots.last()?);
    let Op::ReadVar(var) = *f.op(first) else { return None };
    // Nothing else in an iteration touches what is in flight.
    let mut flying: HashSet<Value> = dots.iter().copied().collect();
    flying.insert(first);
    let alone = flying.iter().all(|v| uses[v.0 as usize] == 1);
    let kept = body.iter().all(|s| match &s.kind {
        StmtKind::Assign(to, v) => (*to == var) == (*v == product) && (*v == product || !flying.contains(v)),
        StmtKind::Let(v) => flying.contains(v) || !matches!(f.op(*v), Op::ReadVar(from) if *from == var),
        _ => false,
    });
    let assigned = body.iter().any(|s| matches!(&s.kind, StmtKind::Assign(to, _) if *to == var));
    (alone && kept && assigned).then_some(InFlight { product, var })
}

impl Lower<'_> {
    /// The loop `s`, if its products are waited for late; whether it has been lowered.
    pub(super) fn late_loop(&mut self, s: &Stmt, body: &[Stmt]) -> bool {
        let Role::Consumer(p) = self.role else { return false };
        let Some(&late) = p.late.get(&s.id) else { return false };
        let (c, m) = (p.channels[late.channel].ring, self.var(late.of.var));
        let site = self.site(self.f.values[late.of.product.0 as usize].span);
        self.line(format!("let mut used{c}: u32 = 0; let mut late{c} = false;"));
        let outer = self.late.replace(late.of);
        self.rounds(s, |cx| cx.stmts(body));
        self.late = outer;
        self.line(format!(
            "{m} = d::wgmma_done::<_, _, 0, {}>({m}, {site}); {}",
            p.dots[&late.of.product].groups.n,
            self.give_back(p, c)
        ));
        true
    }

    /// After the last product of an iteration.
    pub(super) fn release_late(&mut self, p: &Pipeline, c: usize) {
        self.line(format!("d::wgmma_wait_previous(0); {} used{c} = s{c}; late{c} = true;", self.give_back(p, c)));
    }

    /// The buffers of the iteration before, if there was one.
    fn give_back(&self, p: &Pipeline, c: usize) -> String {
        roles::empty(c, p.rings[c].copiers, &format!("used{c}"), &format!("late{c} & "))
    }

    /// Whether a product is waited for where it stands.
    pub(super) fn ends_at_once(&self, v: Value) -> bool {
        let late = self.late.is_some_and(|l| l.product == v);
        !late && !self.is_chained(v) && !self.is_deferred(v)
    }

    /// Whether its wait stands further down.
    pub(super) fn is_deferred(&self, v: Value) -> bool {
        self.role.pipeline().is_some_and(|p| p.waits.deferred.contains(&v))
    }

    /// Whether the next product goes on where this one ends.
    pub(super) fn is_chained(&self, v: Value) -> bool {
        self.role.pipeline().is_some_and(|p| p.chained.contains(&v))
    }
}
