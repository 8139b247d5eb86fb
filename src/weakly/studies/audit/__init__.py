"""A labelled data set -> how sensitive its annotators were, how wrong its labels are, what score they allow."""
