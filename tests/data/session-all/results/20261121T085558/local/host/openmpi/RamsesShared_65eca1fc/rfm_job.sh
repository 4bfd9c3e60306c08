#!/bin/bash
# Cut: the analysis only links to it.
