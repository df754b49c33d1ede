/*
 * The channel of one party to one node, which replaces its key when a round ends and a channel was
 * set up to it, for the parties that have none. Other members end rounds at any time; messages are
 * late, lost and reordered as the broker likes. See README.md.
 */

#ifndef ROUNDS
#define ROUNDS 4
#endif

byte round = 1;       /* of the node */
byte key = 1;         /* number of its present key; the party may use each one up to it */
bit  used;            /* another party has set up a channel to the present key */
byte held;            /* number of the key of the party's channel at the node, 0: none */
byte next[ROUNDS];    /* of the Confirm of each round: the next key if it is for the party, or 0 */
bit  named[ROUNDS + 1];  /* by number of the key: it is for the party */
bit  opened[ROUNDS + 1]; /* by number of the key: the party has sent an Open */

byte link;            /* number of the key of the channel at the party, 0: none */
byte needs;           /* the least number that it can have, as far as Confirms tell */
byte settled;         /* by the party */

/* What the party sends the node in the node's round can be opened, now or when the Open arrives. */
#define CAN_OPEN (held == link || !held && key == link)

active proctype Node() {
  byte n;
  do
  :: atomic { used = 1 }
  :: atomic { /* Open: of the present key, and the first one */
       select(n : 1 .. ROUNDS);
       if
       :: !held && n == key && opened[n] -> held = n
       :: else
       fi }
  :: atomic { round < ROUNDS -> /* Confirm of the round, and the next Round */
       if
       :: used ->
          key++; used = 0; named[key] = !held;
          next[round] = (held -> 0 : key)
       :: else
       fi;
       round++ }
  od
}

active proctype Party() {
  byte n;
  do
  :: atomic { /* Key: the first one, or a later one for the party */
       select(n : 1 .. ROUNDS);
       if
       :: n <= key && n > link && (n == 1 || named[n]) -> link = n; opened[n] = 1
       :: else
       fi }
  :: atomic { settled + 1 < round -> /* the Confirm of the next round */
       settled++;
#ifndef BUG_NO_NEEDS
       if
       :: next[settled] -> needs = next[settled]
       :: else
       fi
#endif
     }
  :: atomic { link && link >= needs && settled + 1 == round -> /* it contributes to the node's round */
       assert(CAN_OPEN) }
  od
}
