/// The version of all programs, as they print it: the one of the file `VERSION`, which a test compares.
package let releaseVersion = "0.2.0"
