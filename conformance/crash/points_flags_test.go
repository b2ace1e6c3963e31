package crash

import "flag"

// They are parsed by every build, and read by the one with the tag loamfault.
var (
	pointRounds = flag.Int("ends", 0, "how often TestPoints goes over all places; 0: once")      //nolint:unused // see above
	onePoint    = flag.String("point", "", "the one place at which TestPoints ends the machine") //nolint:unused // see above
)
