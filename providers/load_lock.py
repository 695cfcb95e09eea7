"""One model is loaded at a time in a process, whichever thread asks for it.

While `from_pretrained` works, Transformers (seen in 5.24) puts a function that does nothing in the
place of `PreTrainedModel.tie_weights`, and afterwards what it found there before. Of two loads that
overlap the later one finds that function, and puts it back for good: every model loaded from then
on has an output layer of random numbers.
"""

import threading

load_lock = threading.Lock()
"""Held around each `from_pretrained` of a model's weights."""
