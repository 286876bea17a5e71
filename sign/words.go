package sign

// keyWords turns one byte of a key id into a word, so that two people can compare
// keys by voice. Plain, short English words without pairs that sound alike. The
// order is part of what people see: never change it.
var keyWords = [256]string{
	"acorn", "almond", "amber", "anchor", "apple", "apron", "arrow", "aspen",
	"attic", "badge", "baker", "bamboo", "banjo", "barley", "barn", "basil",
	"basket", "beach", "beaver", "beech", "bell", "berry", "birch", "biscuit",
	"blanket", "bonnet", "book", "bottle", "bowl", "branch", "brass", "bread",
	"brick", "bridge", "brook", "broom", "bucket", "butter", "button", "cabin",
	"cactus", "camel", "candle", "canoe", "canvas", "carpet", "carrot", "castle",
	"cedar", "cellar", "chalk", "cherry", "chimney", "cider", "circle", "clay",
	"clock", "cloud", "clover", "coast", "cobalt", "coffee", "comet", "compass",
	"copper", "coral", "cotton", "cricket", "crown", "cypress", "daisy", "deer",
	"desk", "dolphin", "donkey", "dragon", "drum", "duck", "dune", "eagle",
	"easel", "echo", "elbow", "engine", "falcon", "feather", "fennel", "fern",
	"ferry", "fiddle", "finch", "flag", "flower", "flute", "forest", "fossil",
	"fountain", "fox", "garden", "garlic", "garnet", "gate", "ginger", "glacier",
	"glass", "globe", "goat", "goose", "granite", "grape", "gravel", "guitar",
	"hammer", "harbour", "harp", "hawk", "hazel", "helmet", "heron", "holly",
	"honey", "horn", "inkwell", "island", "ivory", "ivy", "jacket", "jasmine",
	"jelly", "jigsaw", "juniper", "kayak", "kernel", "kettle", "kitten", "ladder",
	"lagoon", "lake", "lantern", "laurel", "lavender", "leaf", "lemon", "lentil",
	"lily", "lion", "lobster", "locket", "magnet", "maple", "marble", "marsh",
	"meadow", "melon", "mint", "mirror", "mitten", "moss", "mountain", "mustard",
	"napkin", "nectar", "needle", "nest", "nickel", "nutmeg", "oak", "oasis",
	"oboe", "ocean", "olive", "onion", "orchid", "otter", "owl", "oyster",
	"paddle", "palm", "panda", "paper", "parrot", "pearl", "pebble", "pepper",
	"piano", "pigeon", "pillow", "planet", "pocket", "pond", "poplar", "potato",
	"prairie", "pumpkin", "puppet", "quail", "quarry", "quartz", "quill", "quilt",
	"rabbit", "radish", "raven", "ribbon", "river", "robin", "rocket", "rose",
	"ruby", "saddle", "saffron", "salmon", "sandal", "satin", "scarf", "shell",
	"silk", "silver", "skate", "slate", "spice", "spoon", "spruce", "squirrel",
	"stone", "stork", "sugar", "sunset", "swan", "table", "thistle", "thyme",
	"tiger", "timber", "toast", "tulip", "turnip", "turtle", "umbrella", "valley",
	"vanilla", "velvet", "violet", "violin", "walnut", "water", "whale", "wheat",
	"willow", "window", "wolf", "wool", "wren", "yarn", "zebra", "zinc",
}
