package crash

import "flag"

var (
	pointRounds = flag.Int("ends", 0, "how often TestPoints goes over all places; 0: once")
	onePoint    = flag.String("point", "", "the one place at which TestPoints ends the machine")
)
