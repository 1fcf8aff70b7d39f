/* What depends on the compiler and the processor. */

#ifndef RLDS_KIT_STORAGE_CPU_H
#define RLDS_KIT_STORAGE_CPU_H

/* Loops that benefit from wider vector registers are compiled for each kind of processor; the version is selected when
 * the library is loaded. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_CPU
#endif

#endif
