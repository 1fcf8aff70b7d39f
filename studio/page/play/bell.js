// A short sound: the others are there. Browsers play it only if the person has clicked something on the page before.

const TONES = [660, 880];
const SECONDS = 0.16;

/** Rings; returns whether it could. */
export function ring() {
  if (!navigator.userActivation?.hasBeenActive) return false;
  try {
    const audio = new AudioContext();
    TONES.forEach((frequency, number) => {
      const tone = audio.createOscillator();
      const volume = audio.createGain();
      tone.frequency.value = frequency;
      volume.gain.value = 0.08;
      tone.connect(volume).connect(audio.destination);
      tone.start(audio.currentTime + number * SECONDS);
      tone.stop(audio.currentTime + (number + 1) * SECONDS);
    });
    setTimeout(() => audio.close(), 1000);
    return true;
  } catch {
    return false; // no sound device
  }
}
