/*
 * One attempt of one honest party whose store may go back at any time, whatever the broker hides.
 * What the party seals has a salt, which with the attempt gives the key of every chunk, share and
 * mask. A plaintext is the number of the noise that was drawn for it. See README.md.
 */

#ifndef ROLLBACKS
#define ROLLBACKS 3
#endif
#define DRAWS (ROLLBACKS + 1)

#define NONE 0

typedef Disk {
  byte salt;  /* NONE: nothing was drawn for the attempt */
  byte noise
}

Disk disk, copy;         /* the store, and an older copy of it */
Disk mem;                /* of the running process */
byte drawn;              /* random numbers drawn so far: each is another one */
byte rollbacks;
byte under[DRAWS + 1];   /* what was sealed under a salt, NONE: nothing */
byte manifest[DRAWS + 1];  /* the noise in the manifest with a salt */
byte counted;            /* the salt of the contribution that the honest node counts */

/* Nothing is sealed twice under one key and nonce. */
inline seal() {
  assert(under[mem.salt] == NONE || under[mem.salt] == mem.noise);
  under[mem.salt] = mem.noise
}

/* Two numbers are drawn for the attempt, and stored in one transaction before anything leaves. */
inline contribute() {
#ifdef BUG_NO_SALT
  mem.salt = 1;
#else
  mem.salt = drawn + 1;
#endif
  mem.noise = drawn + 1;
  drawn++;
#ifdef BUG_SALT_FIRST
  disk.salt = mem.salt
#else
  disk.salt = mem.salt; disk.noise = mem.noise
#endif
}

/* A process that starts reads its store. The broker may show it nothing of what it sent. */
inline start() {
  mem.salt = disk.salt;
  mem.noise = disk.noise;
  if
  :: mem.salt != NONE && mem.noise == NONE -> drawn++; mem.noise = drawn
  :: else
  fi
}

active proctype Party() {
  byte i;
  do
  :: atomic { mem.salt == NONE && drawn < DRAWS -> contribute() }
  :: atomic { mem.salt != NONE -> seal() }                          /* a chunk leaves */
  :: atomic { mem.salt != NONE && under[mem.salt] != NONE -> manifest[mem.salt] = mem.noise }
  :: atomic { start() }                                                /* a restart */
  :: atomic { copy.salt = disk.salt; copy.noise = disk.noise }      /* a copy of the store */
  :: atomic { rollbacks < ROLLBACKS ->
       rollbacks++;
       disk.salt = copy.salt; disk.noise = copy.noise;
       start() }
  :: atomic { rollbacks < ROLLBACKS && drawn < DRAWS ->             /* of before the attempt */
       rollbacks++;
       disk.salt = NONE; disk.noise = NONE; copy.salt = NONE; copy.noise = NONE;
       start() }
  od
}

/* The honest node takes the first contribution that the broker shows it, and no second one. */
active proctype Node() {
  byte s;
  do
  :: atomic {
       select(s : 1 .. DRAWS);
#ifdef BUG_SECOND_CONTRIBUTION
       manifest[s] != NONE ->
#else
       counted == NONE && manifest[s] != NONE ->
#endif
       assert(counted == NONE || counted == s);
       counted = s }
  od
}
