package deliver

// Of each target it is known which hub filled it, because an answer of another one looks
// just like a catalogue of which much was withdrawn; see reconciliation.proof.

// beginOrigin forgets which hub filled a target of which nothing is ours any more: to
// another hub it is as good as new.
func (t *targetRun) beginOrigin() {
	k := t.known
	if len(k.Skills) == 0 && k.Origin != "" && k.Origin != t.origin() {
		k.Origin, k.Also, k.Generation, k.Catalogue, t.dirty = "", "", 0, "", true
	}
}

// shareOrigin remembers, with the first receipt of it, that what another hub has is about
// to be written.
func (t *targetRun) shareOrigin(steps []step) {
	k, origin := t.known, t.origin()
	if k.Origin == "" || k.Origin == origin || k.Also == origin {
		return
	}
	for _, st := range steps {
		if st.verb == doWrite || st.verb == doUpdate || st.verb == doAdopt {
			k.Also, t.dirty = origin, true
			return
		}
	}
}

// endOrigin records whose catalogue was followed: with nothing left to do (clean), or with
// the move from another hub confirmed.
func (t *targetRun) endOrigin(clean, confirmed bool) {
	k, origin := t.known, t.origin()
	next := *k
	moved := k.Origin != origin || k.Also != ""
	switch {
	case clean, confirmed && moved:
		if next.Also = ""; k.Origin != origin {
			next.Generation = 0 // of the other hub
		}
		if t.catalogue.generation != nil {
			next.Generation = *t.catalogue.generation
		}
	case k.Origin != "":
		return
	}
	next.Origin, next.Catalogue = origin, t.catalogue.identity()
	if next.Origin != k.Origin || next.Also != k.Also || next.Generation != k.Generation || next.Catalogue != k.Catalogue {
		*k, t.dirty = next, true
	}
}
