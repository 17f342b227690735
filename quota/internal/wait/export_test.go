package wait

// MostPassed is mostPassed.
const MostPassed = mostPassed
