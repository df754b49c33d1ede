/*
 * Set agreement, one reveal, void and spare attempts, restart and rollback, for M = 3 compute
 * nodes, N = 3 parties, two rounds of two attempts, and N_min = 2. README.md has the properties,
 * the planted bugs and the part of the code that each step stands for.
 *
 * HONEST nodes and party 0 are honest. The adversary is everybody else: the other nodes, parties
 * 1 and 2, the aggregator, and the broker, which orders messages. What it says is chosen
 * nondeterministically where an honest member hears it, so that it may tell each member
 * something else.
 */
#ifndef HONEST
#define HONEST 1
#endif
#ifndef CRASHES
#define CRASHES 1 /* of each node */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 0 /* of each node */
#endif
#ifndef PARTY
#define PARTY 1 /* 0: without party 0's process; its contributions are there when nodes want them */
#endif

#ifndef ROUNDS
#define ROUNDS 2
#endif
#define ATTEMPTS 2
#define NMIN 2
#define SLOTS (ROUNDS * ATTEMPTS) /* attempt a of round r is slot (r-1)*ATTEMPTS + a-1 */
#define ROUND(t) ((t) / ATTEMPTS + 1)
#define OTHER(t) ((t) ^ 1) /* the other attempt of its round */
#define SIZE(s) (((s) & 1) + (((s) >> 1) & 1) + (((s) >> 2) & 1))
#define ANY(x) \
  if :: x = 0 :: x = 1 :: x = 2 :: x = 3 :: x = 4 :: x = 5 :: x = 6 :: x = 7 fi

/* Phases. */
#define COLLECTING 0
#define HELD 1
#define AGREED 2
#define VOID 3
#define REVEALED 4
#define LEFT 5 /* void before it agreed */

typedef Store { /* of a node */
  byte slot;   /* the attempt that it is in, plus 1; 0 before the first */
  byte phase;
  byte list;   /* its Hold: a set of parties, as bits */
  byte set;    /* its Agree */
  byte newest; /* the last round in which it revealed */
  byte noise   /* in its partial sum */
};

typedef Sent { /* by a node, in each attempt: plus 1; 0 when nothing was sent */
  byte hold[SLOTS];
  byte agree[SLOTS];
  byte partial[SLOTS]; /* 8 noise + set */
  byte confirm[SLOTS]; /* 0 of a void Result, 8 + set of another */
};

Sent sent[HONEST];
byte contribution[SLOTS]; /* of party 0: the number of its noise */
bit  taken[SLOTS];        /* party 0 has taken the attempt as void */
bit  charged[SLOTS];      /* in party 0's ledger */
byte draws;               /* of noise, by nodes */

#if HONEST == 1
#define ALL(kind, t)      (sent[0].kind[t])
#define SAME(t)           (true)
#define CONFIRM_SAME(t)   (true)
#define HOLDS(t)          (sent[0].hold[t] - 1)
#define REVEALED_IN(t)    (sent[0].partial[t])
#define AGREES_WITH(p, t) (true)
#elif HONEST == 2
#define ALL(kind, t)      (sent[0].kind[t] && sent[1].kind[t])
#define SAME(t)           (sent[0].agree[t] == sent[1].agree[t])
#define CONFIRM_SAME(t)   (sent[0].confirm[t] == sent[1].confirm[t])
#define HOLDS(t)          ((sent[0].hold[t] - 1) & (sent[1].hold[t] - 1))
#define REVEALED_IN(t)    (sent[0].partial[t] || sent[1].partial[t])
#define AGREES_WITH(p, t) ((!sent[0].partial[t] || ((sent[0].partial[t] - 1) & 7) == p) && \
                           (!sent[1].partial[t] || ((sent[1].partial[t] - 1) & 7) == p))
#else
#define ALL(kind, t)      (sent[0].kind[t] && sent[1].kind[t] && sent[2].kind[t])
#define SAME(t)           (sent[0].agree[t] == sent[1].agree[t] && sent[1].agree[t] == sent[2].agree[t])
#define CONFIRM_SAME(t)   (sent[0].confirm[t] == sent[1].confirm[t] && sent[1].confirm[t] == sent[2].confirm[t])
#define HOLDS(t)          ((sent[0].hold[t] - 1) & (sent[1].hold[t] - 1) & (sent[2].hold[t] - 1))
#define REVEALED_IN(t)    (sent[0].partial[t] || sent[1].partial[t] || sent[2].partial[t])
#define AGREES_WITH(p, t) ((!sent[0].partial[t] || ((sent[0].partial[t] - 1) & 7) == p) && \
                           (!sent[1].partial[t] || ((sent[1].partial[t] - 1) & 7) == p) && \
                           (!sent[2].partial[t] || ((sent[2].partial[t] - 1) & 7) == p))
#endif

/* An Agree of a dishonest node may differ for each receiver. */
#if HONEST < 3
#define LIAR true
#else
#define LIAR false
#endif

/* The planted bugs. */
#ifdef BUG_REOPEN
#define MAY_ENTER(r) true
#else
#define MAY_ENTER(r) ((r) > n.newest)
#endif
#ifdef BUG_DIFFERENT
#define EQUAL(t) true
#else
#define EQUAL(t) SAME(t)
#endif
#ifdef BUG_SMALL
#define ENOUGH(s) true
#else
#define ENOUGH(s) (SIZE(s) >= NMIN)
#endif
#ifdef BUG_DEAF
#define HEARS false
#else
#define HEARS true
#endif
#ifdef BUG_NODE_NOISE /* drawn for each reveal, and its own Partial isn't heard */
#define HEARS_PARTIAL false
#else
#define HEARS_PARTIAL HEARS
#endif
#ifdef BUG_EARLY
#define READY (!stopped)
#else
#define READY (!reading && !stopped)
#endif
#ifdef BUG_UNION
#define JOIN |
#else
#define JOIN &
#endif
#ifdef BUG_VOID_ON_A_WORD
#define SHOWS_VOID(t) true
#else
#define SHOWS_VOID(t) (ALL(confirm, t) && CONFIRM_SAME(t) && sent[0].confirm[t] == 1)
#endif
#ifdef BUG_FORGET_MEMO
#define MAY_CONTRIBUTE true
#else
#define MAY_CONTRIBUTE (!latest || ROUND(latest - 1) <= settled || taken[latest - 1])
#endif

/* What nobody reads again is cleared, so that histories don't multiply the states. A set below
 * N_min is 0: no rule looks at its members. */
byte at[HONEST]; /* the earliest attempt, plus 1, in which a node is or can be again */
byte settled;    /* by party 0 */

#if HONEST == 1
#define PAST(t) (at[0] > (t) + 1)
#elif HONEST == 2
#define PAST(t) (at[0] > (t) + 1 && at[1] > (t) + 1)
#else
#define PAST(t) (at[0] > (t) + 1 && at[1] > (t) + 1 && at[2] > (t) + 1)
#endif

inline forget() {
  d_step {
    t = 0;
    do
    :: t < SLOTS ->
       if
       :: PAST(t) && (!PARTY || settled >= ROUND(t)) ->
          x = 0;
          do
          :: x < HONEST ->
             sent[x].hold[t] = 0; sent[x].agree[t] = 0; sent[x].confirm[t] = 0;
             if
             :: PAST(t | 1) -> sent[x].partial[t] = 0
             :: else
             fi;
             x++
          :: else -> break
          od;
          x = 0;
          contribution[t] = 0; taken[t] = 0; charged[t] = 0
       :: else
       fi;
       t++
    :: else -> break
    od;
    t = 0
  }
}

#define COPY(to, from) \
  to.slot = from.slot; to.phase = from.phase; to.list = from.list; to.set = from.set; \
  to.newest = from.newest; to.noise = from.noise

/* One content for each purpose. */
inline send(place, value) {
  assert(place == 0 || place == (value) + 1);
  place = (value) + 1
}

inline send_partial() {
  t = n.slot - 1;
  assert(!REVEALED_IN(OTHER(t)));                  /* one reveal a round */
  assert(AGREES_WITH(n.set, t));                   /* over one set */
  assert(SIZE(n.set) >= NMIN);                     /* of N_min parties at least */
  assert(!(n.set & ~(sent[k].hold[t] - 1)));       /* which are on its list */
  assert(!taken[t]);                               /* in an attempt that isn't void */
  send(sent[k].partial[t], 8 * n.noise + n.set);
  t = 0
}

/* read stops a node that finds a message of its own which its store doesn't have. Only a store
 * that was rolled back lacks one. */
#define MISSING(kind, least, value) \
  (sent[k].kind[t] && (t + 1 > n.slot || \
    (t + 1 == n.slot && (n.phase < least || sent[k].kind[t] != (value) + 1))))

inline read() {
  t = 0;
  do
  :: t < SLOTS ->
     if
     :: HEARS && (MISSING(hold, HELD, n.list) || MISSING(agree, AGREED, n.set)) -> stopped = true
     :: HEARS_PARTIAL && MISSING(partial, REVEALED, 8 * n.noise + n.set) -> stopped = true
     :: else
     fi;
     t++
  :: else -> break
  od;
  t = 0;
  reading = false;
#if ROLLBACKS
  assert(!stopped || rollbacks)
#else
  assert(!stopped)
#endif
}

proctype Node(byte k) {
  Store n;    /* in memory */
  Store disk; /* equal to it after every step */
  bit copied;
#if ROLLBACKS
  Store copy;
  byte rollbacks;
#endif
  byte crashes, t, x;
  bit reading, stopped;

  do
  :: stopped -> break

  /* Read what it has sent, after every start and before anything else. */
  :: atomic { reading && !stopped -> read() }

  /* Round: forward only, and never in a round in which it has revealed. */
  :: atomic { READY && n.slot < SLOTS ->
     if :: x = 1 :: x = 2 :: x = 3 :: x = 4 fi;
     if
     :: x > n.slot && x <= SLOTS && MAY_ENTER(ROUND(x - 1)) &&
        (!PARTY || n.phase != REVEALED || sent[k].confirm[n.slot - 1]) -> /* the result comes first */
        if /* what it leaves without a reveal it can confirm as void */
        :: PARTY && n.slot && n.phase != REVEALED && !sent[k].confirm[n.slot - 1] ->
           sent[k].confirm[n.slot - 1] = 1
        :: else
        fi;
        n.slot = x; n.phase = COLLECTING; n.list = 0; n.set = 0; n.noise = 0; COPY(disk, n);
        x = 0;
        if
        :: !copied -> at[k] = n.slot
        :: else
        fi;
        forget()
     :: else
     fi;
     x = 0 }

  /* Hold: the contributions that it has. */
  :: atomic { READY && n.slot && n.phase == COLLECTING ->
     ANY(x);
     if
     :: SIZE(x) >= NMIN && (!PARTY || !(x & 1) || contribution[n.slot - 1]) ->
        n.list = x; n.phase = HELD;
#ifndef BUG_FORGET_HOLD
        COPY(disk, n)
#endif
     :: else
     fi;
     x = 0 }

  /* Agree: the intersection of all lists. */
  :: atomic { READY && n.phase == HELD && ALL(hold, n.slot - 1) ->
#if HONEST < 3
     ANY(x);
#else
     x = 7;
#endif
     n.set = HOLDS(n.slot - 1) JOIN x;
     if
     :: SIZE(n.set) < NMIN -> n.set = 0
     :: else
     fi;
     n.phase = AGREED; COPY(disk, n);
     x = 0 }

  /* Reveal: M equal Agrees over N_min parties. */
  :: atomic { READY && n.phase == AGREED && ALL(agree, n.slot - 1) ->
     if
     :: EQUAL(n.slot - 1) && ENOUGH(n.set) ->
        n.phase = REVEALED; n.newest = ROUND(n.slot - 1);
#ifdef BUG_NODE_NOISE
        draws++; n.noise = draws;
#endif
#ifndef BUG_FORGET_REVEAL
        COPY(disk, n)
#endif
     :: LIAR || !SAME(n.slot - 1) || SIZE(n.set) < NMIN -> n.phase = VOID; COPY(disk, n)
     fi }

#if PARTY
  /* Confirm: of a void Result in an attempt in which it has not revealed, and then never will; or of
   * a Result over its set. It is durable before it is sent. */
  :: atomic { READY && n.slot && !sent[k].confirm[n.slot - 1] ->
     if
     :: n.phase == REVEALED -> send(sent[k].confirm[n.slot - 1], 8 + n.set)
     :: else ->
#ifndef BUG_CONFIRM_STAYS
        if
        :: n.phase < AGREED -> n.phase = LEFT
        :: n.phase == AGREED -> n.phase = VOID
        :: else
        fi;
#endif
#ifndef BUG_FORGET_CONFIRM
        COPY(disk, n);
#endif
        send(sent[k].confirm[n.slot - 1], 0)
     fi }
#endif

  /* Send, and retransmit, what it signed. */
  :: atomic { READY && n.slot && n.phase >= HELD && n.list ->
     send(sent[k].hold[n.slot - 1], n.list) }
  :: atomic { READY && n.slot && n.phase >= AGREED && n.phase != LEFT -> send(sent[k].agree[n.slot - 1], n.set) }
  :: atomic { READY && n.slot && n.phase == REVEALED -> send_partial() }

  /* Restart. */
  :: atomic { !stopped && crashes < CRASHES -> crashes++; COPY(n, disk); reading = true }
#if ROLLBACKS
  :: atomic { !stopped && !copied -> copied = true; COPY(copy, disk) }
  :: atomic { !stopped && copied && rollbacks < ROLLBACKS ->
     rollbacks++; COPY(disk, copy); COPY(n, disk); reading = true }
#endif
  od
}

proctype Party() { /* party 0 */
  byte latest, stored, noise, drawn, crashes, t, x;

  do
  /* Contribute: once to an attempt, later than all before, in the first round that isn't settled. */
  :: atomic { settled < ROUNDS ->
     x = settled * ATTEMPTS + 1;
     if :: true :: x++ fi;
     if
     :: x > latest && MAY_CONTRIBUTE ->
        latest = x; drawn++; noise = drawn;
#ifndef BUG_LATE_CHARGE
        charged[x - 1] = true;
#endif
#ifndef BUG_FORGET_CONTRIBUTION
        stored = latest
#endif
     :: else
     fi;
     x = 0 }
  :: atomic { latest && ROUND(latest - 1) == settled + 1 ->
     assert(charged[latest - 1]);
     send(contribution[latest - 1], noise) }

  /* Result: one that all nodes confirm. */
  :: atomic { settled < ROUNDS ->
     x = settled * ATTEMPTS;
     if :: true :: x++ fi;
     if
     :: ALL(confirm, x) && CONFIRM_SAME(x) && sent[0].confirm[x] > 8 ->
        assert(!taken[x]);
        assert(!((sent[0].confirm[x] - 1) & 1) || contribution[x]);   /* counts what it made */
        assert(!((sent[0].confirm[x] - 1) & 1) || latest == x + 1);   /* and what it can settle */
        assert(AGREES_WITH(((sent[0].confirm[x] - 1) & 7), x));       /* and what was revealed */
        settled++;
        x = 0;
        forget()
     :: else
     fi;
     x = 0 }

  /* Void: all nodes confirm it. */
  :: atomic { settled < ROUNDS ->
     x = settled * ATTEMPTS;
     if :: true :: x++ fi;
     if
     :: SHOWS_VOID(x) ->
        taken[x] = true;
        assert(!REVEALED_IN(x))
     :: else
     fi;
     x = 0 }

  /* Restart. */
  :: atomic { crashes < CRASHES -> crashes++; latest = stored }
  od
}

init {
  atomic {
    run Node(0);
#if HONEST > 1
    run Node(1);
#endif
#if HONEST > 2
    run Node(2);
#endif
#if PARTY
    run Party()
#endif
  }
}
