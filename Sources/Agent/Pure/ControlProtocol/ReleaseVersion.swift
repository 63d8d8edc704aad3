/// The version of this release, as the programs print it.
package let releaseVersion = "0.1.0"
