"""Strong annotations -> what weak labels make of them: whole data sets, file by file, clip by clip, rule by rule."""
